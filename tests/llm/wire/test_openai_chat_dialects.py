"""Where the servers that speak `openai-chat` differ."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from tactician.errors import ModelRequestError
from tactician.llm import (
    AssistantMessage,
    Document,
    LlmOptions,
    Message,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import SystemMessage, format_with_reasoning
from tactician.llm.model import ThinkingDelta, ToolSpec
from tactician.llm.providers import PROVIDERS
from tactician.llm.wire import Dialect
from tactician.llm.wire.openai_chat import ChatStreamDecoder, decode, encode
from tests.support.chat_server import chunk, completion

LISTED = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, {"type": "text", "text": "m"}], "closed": True},
    {"type": "reference", "reference_ids": [1]},
    {"type": "text", "text": "Yes"},
    {"type": "text", "text": "!"},
]


def body_for(provider: str, model: str, request: ModelRequest) -> dict[str, object]:
    made = PROVIDERS[provider].create_endpoint("k", "http://x", model=model, api_version="v")
    return made.wire.encode(request, model, made.dialect)


def test_content_may_be_a_list_of_parts() -> None:
    body = completion()
    body["choices"] = [{"message": {"content": LISTED}, "finish_reason": "stop"}]
    decoder = ChatStreamDecoder()
    deltas = [one for piece in LISTED for one in decoder.feed(json.dumps(chunk(content=[piece])))]
    list(decoder.feed(json.dumps(chunk("stop"))))

    assert decode(body).message.parts == (Thinking("Hmm"), Text("Yes!"))
    assert decoder.response().message == decode(body).message
    assert deltas[0] == ThinkingDelta("Hmm")


def test_deepseek_gets_its_thinking_back_where_it_called_a_tool() -> None:
    conversation = (
        UserMessage("hi"),
        AssistantMessage((Thinking("Hm"), ToolCall("1", "f"))),
        ToolResult("1", "f", "x"),
        AssistantMessage((ToolCall("2", "f"),)),
        ToolResult("2", "f", "x"),
        AssistantMessage((Text("ok"),)),
    )

    def replayed(provider: str, model: str) -> list[object]:
        messages = body_for(provider, model, ModelRequest(conversation))["messages"]
        assert isinstance(messages, list)
        return [one.get("reasoning_content") for one in messages if one["role"] == "assistant"]

    assert replayed("deepseek", "deepseek-reasoner") == replayed("deepseek", "deepseek-v4-pro") == ["Hm", "", None]
    assert replayed("deepseek", "deepseek-chat") == replayed("mistral", "magistral-medium-latest") == [None] * 3


def test_thinking_can_be_turned_off_at_deepseek() -> None:
    request = ModelRequest((UserMessage("hi"),), options=LlmOptions(reasoning_effort="none"))

    body = body_for("deepseek", "deepseek-v4-pro", request)

    assert body["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in body


def test_magistral_is_asked_to_reason() -> None:
    request = ModelRequest((UserMessage("hi"),))

    assert body_for("mistral", "magistral-medium-latest", request)["prompt_mode"] == "reasoning"
    assert "prompt_mode" not in body_for("mistral", "mistral-large-latest", request)


def test_mistral_gets_ids_of_nine_letters_and_the_same_ones_again() -> None:
    call, result = AssistantMessage((ToolCall("call_abc", "f"),)), ToolResult("call_abc", "f", "x")

    messages = body_for("mistral", "mistral-large-latest", ModelRequest((call, result)))["messages"]

    assert isinstance(messages, list)
    made = messages[0]["tool_calls"][0]["id"]
    assert made == messages[1]["tool_call_id"]
    assert len(made) == 9
    assert made.isalnum()


def test_openrouter_searches_through_a_plugin() -> None:
    request = ModelRequest((UserMessage("hi"),), options=LlmOptions(native_tools=("web_search",)))

    assert body_for("openrouter", "openai/gpt-5.4", request)["plugins"] == [{"id": "web"}]


def test_documents_are_parts_of_their_own_kind() -> None:
    linked = ModelRequest((UserMessage((Document(url="https://x/a.pdf"),)),))

    body = body_for("mistral", "mistral-large-latest", linked)

    assert body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "document_url", "document_url": "https://x/a.pdf", "document_name": "document.pdf"}],
        }
    ]
    with pytest.raises(ModelRequestError, match="fetch it"):
        encode(linked, "m")
    with pytest.raises(ModelRequestError, match="takes no documents"):
        encode(linked, "m", Dialect(documents=""))


@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, 4, 2),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}, 5, 2),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}, 0, 2),
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 300}, 0, 291),
    ],
)
def test_tokens_are_counted_under_every_name(usage: dict[str, object], read: int, written: int) -> None:
    counted = decode(completion("x", usage=usage)).usage

    assert (counted.input_tokens, counted.cache_read_tokens, counted.output_tokens) == (9, read, written)


def test_thinking_is_counted() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 5}}

    assert decode(completion("x", usage=usage)).usage.reasoning_tokens == 5


def test_parallel_calls_can_be_forbidden() -> None:
    request = ModelRequest((UserMessage("hi"),), tools=(ToolSpec("f", "", {"type": "object"}),))

    assert encode(request, "m", Dialect(parallel_tool_calls=False))["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in encode(request, "m")


def test_text_with_reasoning_is_for_reading() -> None:
    assert (
        format_with_reasoning(AssistantMessage((Thinking("Hm"), Text("42")))) == "[REASONING]\nHm\n[/REASONING]\n\n42"
    )
    assert format_with_reasoning(AssistantMessage((Text("42"),))) == "42"


def test_a_stream_of_mistral_is_not_asked_for_its_usage() -> None:
    request = ModelRequest((UserMessage("hi"),))

    for provider in ("mistral", "azure-mistral"):
        dialect = PROVIDERS[provider].dialect
        assert "stream_options" not in encode(request, "mistral-large-latest", dialect, stream=True)
    assert "stream_options" in encode(request, "grok-4", PROVIDERS["grok"].dialect, stream=True)


def test_mistral_gets_an_answer_between_a_result_and_the_user() -> None:
    call = AssistantMessage((ToolCall("abcdefghi", "look", "{}"), ToolCall("abcdefghj", "look", "{}")))
    results = (ToolResult("abcdefghi", "look", "1"), ToolResult("abcdefghj", "look", "2"))
    request = ModelRequest((UserMessage("hi"), call, *results, UserMessage("and"), UserMessage("now")))

    def list_roles(provider: str) -> list[object]:
        messages = body_for(provider, "a-model", request)["messages"]
        assert isinstance(messages, list)
        return [message["role"] for message in messages]

    assert list_roles("mistral") == ["user", "assistant", "tool", "tool", "assistant", "user", "user"]
    assert list_roles("grok") == ["user", "assistant", "tool", "tool", "user", "user"]


def test_mistral_gets_all_instructions_first() -> None:
    """A handoff adds some after the call: Mistral's API would refuse "role 'system' after role 'assistant'"."""
    call = AssistantMessage((ToolCall("abcdefghi", "transfer_to_b"),))
    done, told = ToolResult("abcdefghi", "transfer_to_b", "Handed over."), SystemMessage("You have it now.")
    request = ModelRequest((SystemMessage("You are b."), UserMessage("hi"), call, done, told, UserMessage("Go on")))

    def list_messages(provider: str) -> list[object]:
        messages = body_for(provider, "a-model", request)["messages"]
        assert isinstance(messages, list)
        return [message["content"] if message["role"] == "system" else message["role"] for message in messages]

    first, rest = ["You are b.", "You have it now."], ["user", "assistant", "tool", "assistant", "user"]
    assert list_messages("mistral") == list_messages("azure-mistral") == [*first, *rest]
    assert list_messages("grok") == ["You are b.", "user", "assistant", "tool", "You have it now.", "user"]


def test_mistral_gets_something_to_answer() -> None:
    def list_contents(provider: str, *messages: Message) -> list[object]:
        encoded = body_for(provider, "a-model", ModelRequest(messages))["messages"]
        assert isinstance(encoded, list)
        return [message["content"] for message in encoded]

    answered = (UserMessage("hi"), AssistantMessage((Text("Let me hand you over."),)))
    assert list_contents("mistral", *answered) == ["hi", "Let me hand you over.", "Continue."]
    assert list_contents("mistral", SystemMessage("Begin.")) == ["Begin.", "Continue."]
    assert list_contents("grok", *answered) == ["hi", "Let me hand you over."]


def test_tools_that_a_program_makes_for_each_request_are_forgotten() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1_000):
            tool = ToolSpec("look", f"{number} {'long ' * 4_000}", {"type": "object"})
            encode(ModelRequest((UserMessage("hi"),), (tool,)), "a-model")
        assert tracemalloc.get_traced_memory()[0] - before < 10_000_000
    finally:
        tracemalloc.stop()
