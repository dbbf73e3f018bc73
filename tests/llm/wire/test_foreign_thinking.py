"""Thinking that another account wrote: a call that is refused for it is made once more, without it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeAlias

import pytest

from tactician.errors import ModelRequestError, ThinkingRefusedError
from tactician.llm import (
    AssistantMessage,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import AssistantPart, ProviderItem
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.wire.anthropic_messages import strip_thinking
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tests.support.anthropic_server import KEY, AnthropicServer, says, text
from tests.support.chat_server import ChatServer, answers, fails
from tests.support.strict_servers import SITES, StrictServer

REASONING = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"%s"}'
SEARCH = '{"type":"web_search_call","id":"ws_1","status":"completed"}'
PHASE = '{"type":"message_phase","phase":"commentary"}'
CALL = ToolCall("c1", "weather")


def conversation(*thoughts: AssistantPart) -> ModelRequest:
    answer = AssistantMessage((*thoughts, Text("Let me see."), CALL))
    return ModelRequest((UserMessage("Weather?"), answer, ToolResult("c1", "weather", "sunny")))


def encrypted(by: str) -> ProviderItem:
    return ProviderItem("openai-responses", REASONING % by)


def item(data: str) -> ProviderItem:
    return ProviderItem("openai-responses", data)


async def whole(model: LanguageModel, request: ModelRequest) -> ModelResponse:
    return await model.generate(request)


async def streamed(model: LanguageModel, request: ModelRequest) -> ModelResponse:
    *deltas, response = [one async for one in model.stream(request)]
    assert deltas
    assert isinstance(response, ModelResponse)
    return response


Ask: TypeAlias = Callable[[LanguageModel, ModelRequest], Awaitable[ModelResponse]]
both_ways = pytest.mark.parametrize("ask", [whole, streamed])


@pytest.fixture
async def openai() -> AsyncIterator[StrictServer]:
    async with StrictServer(SITES["openai"]) as running:
        yield running


@pytest.fixture
async def anthropic() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer(says(text("hello"))) as running:
        yield running


def inputs(body: Mapping[str, object]) -> list[object]:
    items = body["input"]
    assert isinstance(items, list)
    return [one.get("encrypted_content") or one["type"] for one in items]


@both_ways
async def test_openai_gets_the_conversation_without_the_items_of_another_organisation(
    openai: StrictServer, ask: Ask
) -> None:
    request = conversation(encrypted("foreign"), item(SEARCH), item(PHASE))

    response = await ask(openai.serve(), request)

    assert response.message.text == "hello"
    first, second = openai.bodies
    called = ["message", "function_call", "function_call_output"]
    assert inputs(first) == ["message", "foreign", "web_search_call", *called]
    assert inputs(second) == ["message", *called]
    assert second["input"][1]["phase"] == "commentary"  # type: ignore[index]


@both_ways
async def test_thinking_that_is_understood_is_sent_once(openai: StrictServer, ask: Ask) -> None:
    await ask(openai.serve(), conversation(encrypted("own")))

    assert len(openai.bodies) == 1


@both_ways
async def test_claude_gets_the_conversation_without_signed_thinking(anthropic: AnthropicServer, ask: Ask) -> None:
    model = RemoteModel(
        "claude-opus-4-7", PROVIDERS["anthropic"].create_endpoint(KEY, anthropic.url, model="claude-opus-4-7")
    )
    secret = ProviderItem("anthropic-messages", '{"type":"redacted_thinking","data":"x"}')

    response = await ask(model, conversation(Thinking("Hm", "foreign"), secret))

    assert response.message.text == "hello"
    said = [[block["type"] for block in body["messages"][1]["content"]] for body in anthropic.bodies]  # type: ignore[index]
    assert said == [["thinking", "redacted_thinking", "text", "tool_use"], ["text", "tool_use"]]


@both_ways
async def test_a_refusal_that_nothing_can_be_done_about_is_an_error(server: ChatServer, ask: Ask) -> None:
    refusal = answers({"error": {"message": "no", "code": "invalid_encrypted_content"}}, 400)
    model = RemoteModel("gpt-5.4", PROVIDERS["azure-openai"].create_endpoint("k", server.url, model="gpt-5.4"))
    server.will(refusal)

    with pytest.raises(ThinkingRefusedError, match=r"azure-openai:gpt-5\.4: HTTP 400: no"):
        await ask(model, conversation())

    server.will(refusal, refusal)
    with pytest.raises(ThinkingRefusedError):
        await ask(model, conversation(encrypted("own")))

    assert len(server.received) == 3


async def test_another_refusal_is_not_repeated(server: ChatServer) -> None:
    model = RemoteModel("gpt-5.4", PROVIDERS["azure-openai"].create_endpoint("k", server.url, model="gpt-5.4"))
    server.will(fails(400))

    with pytest.raises(ModelRequestError):
        await model.generate(conversation(encrypted("own")))

    assert len(server.received) == 1


def test_there_is_nothing_to_leave_out_of_a_conversation_without_thinking() -> None:
    request = conversation(Thinking("unsigned"))

    assert strip_thinking(request) is None
    assert OPENAI_CHAT.strip_thinking(request) is None
