"""The bridge to a model of pydantic-ai that really calls: its `OpenAIChatModel`, against a server on loopback."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

import pytest
from aiohttp import web
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tactician.errors import (
    AuthenticationError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm import (
    AssistantMessage,
    Features,
    Image,
    LlmOptions,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import OutputSpec, TextDelta, ThinkingDelta, ToolCallDelta, ToolSpec
from tactician.llm.pydantic_ai_adapter import PydanticAiModel
from tests.support.chat_server import (
    ChatServer,
    Received,
    answers,
    call,
    call_piece,
    chunk,
    completion,
    fails,
    sends,
    sse,
    streams,
    usage_chunk,
)
from tests.support.waiting import eventually

KEY = "sk-very-secret"
HI = ModelRequest((UserMessage("hi"),))
ADD = ToolSpec(
    "add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
)
OUTPUT = OutputSpec(
    "answer",
    {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False},
)
Call: TypeAlias = Callable[[PydanticAiModel, ModelRequest], Awaitable[object]]


async def generating(model: PydanticAiModel, request: ModelRequest) -> object:
    return await model.generate(request)


async def streaming(model: PydanticAiModel, request: ModelRequest) -> object:
    return [item async for item in model.stream(request)]


both_ways = pytest.mark.parametrize("ask", [generating, streaming])


def text(content: str | None = "hello", *calls: dict[str, object], **more: object) -> dict[str, object]:
    """A completion with all that the OpenAI SDK insists on."""
    return {"id": "chat_1", "created": 1, **completion(content, *calls), **more}


def piece(finish: str | None = None, **delta: object) -> dict[str, object]:
    return {"id": "chat_1", "created": 1, **chunk(finish, **delta)}


@pytest.fixture
async def model(server: ChatServer) -> AsyncIterator[PydanticAiModel]:
    """OpenAI's chat model, at a server that says "hello" until it is told to say something else."""
    server.will(answers(text()))
    async with AsyncOpenAI(api_key=KEY, base_url=f"{server.url}/v1") as client:
        yield PydanticAiModel(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)), timeout=20)


async def test_an_answer_with_its_usage(server: ChatServer, model: PydanticAiModel) -> None:
    response = await model.generate(HI)

    assert response == ModelResponse(
        AssistantMessage((Text("hello"),)),
        Usage(input_tokens=11, output_tokens=7, cache_read_tokens=3, requests=1),
        "stop",
        "served-model",
    )
    received = server.received[0]
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body["messages"] == [{"role": "user", "content": "hi"}]


async def test_a_conversation_with_tools_and_pictures(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(answers(text(None, call("c2", "add", '{"a": 2}'))))
    request = ModelRequest(
        (
            SystemMessage("Be brief."),
            UserMessage((Text("Add what you see."), Image.from_bytes(b"\x89PNG\r\n\x1a\n"))),
            AssistantMessage((Text("Sure."), ToolCall("c1", "add", '{"a":1}'))),
            ToolResult("c1", "add", "3"),
        ),
        tools=(ADD,),
        tool_choice="required",
        options=LlmOptions(temperature=0.5, max_tokens=9),
    )

    response = await model.generate(request)

    assert response.message.parts == (ToolCall("c2", "add", '{"a": 2}'),)
    assert response.finish_reason == "tool_calls"
    body = server.bodies[0]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Add what you see."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ],
        },
        {
            "role": "assistant",
            "content": "Sure.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    ]
    assert isinstance(body["tools"], list)
    (tool,) = body["tools"]
    assert tool["function"]["name"] == "add"
    assert tool["function"]["parameters"] == ADD.parameters
    assert (body["tool_choice"], body["temperature"], body["max_completion_tokens"]) == ("required", 0.5, 9)


async def test_the_schema_of_the_answer(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(answers(text('{"x": "y"}')))

    response = await model.generate(ModelRequest(HI.messages, output=OUTPUT))

    assert response.message.text == '{"x": "y"}'
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": OUTPUT.schema, "strict": True},
    }


async def test_thinking_goes_back_to_where_it_came_from(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(answers({"id": "chat_1", "created": 1, **completion("hello", thinking="hmm")}))

    response = await model.generate(HI)
    await model.generate(ModelRequest((*HI.messages, response.message, UserMessage("and?"))))

    assert (response.message.thinking, response.message.text) == ("hmm", "hello")
    said = server.bodies[1]["messages"]
    assert isinstance(said, list)
    assert said[1]["reasoning_content"] == "hmm"


async def test_a_stream_of_thinking_text_and_calls(server: ChatServer, model: PydanticAiModel) -> None:
    pieces = [
        piece(role="assistant", content=""),
        piece(reasoning_content="hm"),
        piece(reasoning_content="m"),
        piece(content="Let "),
        piece(content="me."),
        piece(tool_calls=[call_piece(0, "", "c1", "add")]),
        piece(tool_calls=[call_piece(0, '{"a"')]),
        piece(tool_calls=[call_piece(0, ": 1}")]),
        piece("tool_calls"),
        {"id": "chat_1", "created": 1, **usage_chunk()},
    ]
    server.will(streams(*pieces))

    *deltas, response = [item async for item in model.stream(ModelRequest(HI.messages, tools=(ADD,)))]

    assert [delta for delta in deltas if delta != ToolCallDelta(0, "c1", "add", "")] == [
        ThinkingDelta("hm"),
        ThinkingDelta("m"),
        TextDelta("Let "),
        TextDelta("me."),
        ToolCallDelta(0, "c1", "add", '{"a"'),
        ToolCallDelta(0, "c1", "add", ": 1}"),
    ]
    assert isinstance(response, ModelResponse)
    assert (response.message.thinking, response.message.text) == ("hmm", "Let me.")
    assert response.message.tool_calls == (ToolCall("c1", "add", '{"a": 1}'),)
    assert response.usage == Usage(input_tokens=11, output_tokens=7, cache_read_tokens=3, requests=1)
    assert (response.finish_reason, response.model) == ("tool_calls", "served-model")


@both_ways
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelRequestError),
        (401, AuthenticationError),
        (403, AuthenticationError),
        (404, ModelNotFoundError),
        (422, ModelRequestError),
        (429, RateLimitError),
        (500, ModelServerError),
        (503, ModelServerError),
    ],
)
async def test_each_status_has_its_error_and_is_not_tried_again(
    server: ChatServer, model: PydanticAiModel, ask: Call, status: int, kind: type[ModelError]
) -> None:
    server.will(fails(status, "the reason", {"Retry-After": "7"}))

    with pytest.raises(ModelError) as raised:
        await ask(model, HI)

    error = raised.value
    assert type(error) is kind
    assert (error.status, error.model, error.retry_after) == (status, "openai:gpt-4o", 7)
    assert str(error) == f"openai:gpt-4o: HTTP {status}: the reason"
    assert len(server.received) == 1


async def test_a_conversation_that_is_too_long(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(answers({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400))

    with pytest.raises(ContextLengthError):
        await model.generate(HI)


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
async def test_an_answer_that_is_no_completion(server: ChatServer, model: PydanticAiModel, body: bytes) -> None:
    server.will(answers(body))

    with pytest.raises(MalformedResponseError, match="openai:gpt-4o: "):
        await model.generate(HI)


async def test_a_stream_that_breaks_off(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(sends(sse(piece(content="x"), done=False), b"data: {", breaks_off=True))

    with pytest.raises(ModelConnectionError):
        await streaming(model, HI)


async def test_a_server_that_is_not_there() -> None:
    async with AsyncOpenAI(api_key=KEY, base_url="http://127.0.0.1:1/v1") as client:
        model = PydanticAiModel(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)))

        with pytest.raises(ModelConnectionError, match="openai:gpt-4o"):
            await model.generate(HI)


@both_ways
async def test_an_answer_that_does_not_come_in_time(server: ChatServer, model: PydanticAiModel, ask: Call) -> None:
    server.will(server.stall())

    with pytest.raises(ModelTimeoutError, match=r"openai:gpt-4o: no answer within 1 s"):
        await ask(model, ModelRequest(HI.messages, options=LlmOptions(timeout=1)))

    await asyncio.wait_for(server.abandoned.wait(), 30)


async def test_leaving_a_stream_early_closes_its_connection(server: ChatServer, model: PydanticAiModel) -> None:
    server.will(server.stall(sse(piece(content="x"), done=False)))

    async with aclosing(model.stream(HI)) as items:  # type: ignore[type-var]  # it is a generator
        assert await anext(items) == TextDelta("x")

    await asyncio.wait_for(server.abandoned.wait(), 30)
    await eventually(lambda: server.open_connections == 0)


async def test_a_hundred_calls_at_once_each_get_their_own_answer(server: ChatServer, model: PydanticAiModel) -> None:
    async def echo(_: web.Request, received: Received) -> web.StreamResponse:
        said = received.body["messages"]
        assert isinstance(said, list)
        return web.json_response(text(said[-1]["content"]))

    server.will(echo)

    found = await asyncio.gather(*(model.generate(ModelRequest((UserMessage(f"{n}"),))) for n in range(100)))

    assert [one.message.text for one in found] == [f"{n}" for n in range(100)]


@both_ways
@pytest.mark.parametrize("status", [400, 401, 500])
async def test_the_key_is_in_no_text(server: ChatServer, model: PydanticAiModel, ask: Call, status: int) -> None:
    server.will(fails(status, f"Incorrect API key: {KEY}."))

    with pytest.raises(ModelError) as raised:
        await ask(model, HI)

    shown = f"{model!r} {raised.value!r} {''.join(traceback.format_exception(raised.value))}"
    assert KEY not in shown
    assert "***" in str(raised.value)


def test_the_features_of_a_model_that_can_do_all(model: PydanticAiModel) -> None:
    assert model.features == Features(tools=True, json_schema=True, images=True)
