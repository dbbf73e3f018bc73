"""Pictures in the results of tools, in each wire format, and for models that see none."""

from __future__ import annotations

import pytest

from tactician.conversation.tokens import ESTIMATE
from tactician.errors import UnsupportedFeatureError
from tactician.llm import AssistantMessage, Image, Message, ModelRequest, ToolCall, ToolResult, UserMessage
from tactician.llm.feature_check import FeatureCheck
from tactician.llm.messages import messages_from_json, messages_to_json
from tactician.llm.routing.token_estimate import estimate_tokens
from tactician.llm.wire import anthropic_messages, openai_chat, openai_responses

PICTURE = Image(data="iVBORw==")
CALLS = AssistantMessage((ToolCall("1", "look"), ToolCall("2", "hear")))
SEEN = (UserMessage("hi"), CALLS, ToolResult("1", "look", "a cat", images=(PICTURE,)), ToolResult("2", "hear", "meow"))
URL = "data:image/png;base64,iVBORw=="


def request(*more: Message) -> ModelRequest:
    return ModelRequest((*SEEN, *more))


def test_anthropic_puts_them_into_the_result() -> None:
    body = anthropic_messages.encode(request(), "claude")
    result = body["messages"][-1]["content"][0]  # type: ignore[index]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    assert result["content"] == [{"type": "text", "text": "a cat"}, picture]


@pytest.mark.parametrize(("content", "said"), [("no cat here", "no cat here"), ("", "The tool failed.")])
def test_anthropic_refuses_them_in_what_is_marked_as_an_error(content: str, said: str) -> None:
    failed = ToolResult("1", "look", content, is_error=True, images=(PICTURE,))
    body = anthropic_messages.encode(ModelRequest((*SEEN[:2], failed, *SEEN[3:])), "claude")
    result = body["messages"][-1]["content"][0]  # type: ignore[index]
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    assert result["content"][0]["text"] == said
    assert "is_error" not in result


def test_responses_put_them_into_the_output() -> None:
    body = openai_responses.encode(request(), "gpt")
    outputs = [item["output"] for item in body["input"] if "output" in item]  # type: ignore[attr-defined]
    shown = {"type": "input_image", "image_url": URL, "detail": "auto"}
    assert outputs == [[{"type": "input_text", "text": "a cat"}, shown], "meow"]


@pytest.mark.parametrize("more", [(), (UserMessage("and?"),), (AssistantMessage(), UserMessage("and?"))])
def test_chat_puts_them_into_a_message_after_the_results(more: tuple[Message, ...]) -> None:
    body = openai_chat.encode(request(*more), "gpt")
    messages = body["messages"]
    assert isinstance(messages, list)
    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", *(["assistant", "user"] if len(more) > 1 else [])]
    first, second, *others = messages[4]["content"]
    assert (first, second) == (
        {"type": "text", "text": "Pictures of look:"},
        {"type": "image_url", "image_url": {"url": URL}},
    )
    assert others == ([{"type": "text", "text": "and?"}] if len(more) == 1 else [])


def test_a_model_without_vision_refuses_them_or_does_without() -> None:
    with pytest.raises(UnsupportedFeatureError, match="vision"):
        FeatureCheck("blind", frozenset({"function_calling"}))(request())
    without, _ = FeatureCheck("blind", frozenset({"function_calling"}), "ignore")(request())
    assert without.messages[2] == ToolResult("1", "look", "a cat")


def test_they_count_as_tokens_and_are_saved() -> None:
    plain = ModelRequest((*SEEN[:2], ToolResult("1", "look", "a cat"), SEEN[3]))
    assert estimate_tokens(request()) - estimate_tokens(plain) == 765
    assert ESTIMATE.count(SEEN[2]) > ESTIMATE.count(plain.messages[2])
    assert messages_from_json(messages_to_json(SEEN)) == SEEN
