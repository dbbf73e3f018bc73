"""Every way in which a provider can fail has its own typed error, which says who failed and how."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from tactician import Agent, RunContext
from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
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
from tactician.llm import Endpoint, LlmOptions, ModelRequest, UserMessage
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import ChatServer, answers, chunk, completion, fails, hangs_up, sends, sse, streams
from tests.support.waiting import eventually

HI = ModelRequest((UserMessage("hi"),))
Call: TypeAlias = Callable[[RemoteModel, ModelRequest], Awaitable[object]]


async def generating(model: RemoteModel, request: ModelRequest) -> object:
    return await model.generate(request)


async def streaming(model: RemoteModel, request: ModelRequest) -> object:
    return [item async for item in model.stream(request)]


both_ways = pytest.mark.parametrize("ask", [generating, streaming])

STATUSES: tuple[tuple[int, type[ModelError]], ...] = (
    (400, ModelRequestError),
    (401, AuthenticationError),
    (402, AuthenticationError),
    (403, AuthenticationError),
    (404, ModelNotFoundError),
    (408, ModelTimeoutError),
    (413, ModelRequestError),
    (422, ModelRequestError),
    (429, RateLimitError),
    (500, ModelServerError),
    (502, ModelServerError),
    (503, ModelServerError),
    (529, RateLimitError),
)


@both_ways
@pytest.mark.parametrize(("status", "kind"), STATUSES)
async def test_each_status_has_its_error(server: ChatServer, ask: Call, status: int, kind: type[ModelError]) -> None:
    server.will(fails(status, "the reason"))

    with pytest.raises(ModelError) as raised:
        await ask(server.model(), HI)

    error = raised.value
    assert type(error) is kind
    assert (error.status, error.model, error.retry_after) == (status, "test:test-model", None)
    assert str(error) == f"test:test-model: HTTP {status}: the reason"


@both_ways
@pytest.mark.parametrize(
    ("message", "details"),
    [
        ("too long", {"code": "context_length_exceeded"}),
        ("too long", {"code": 400, "type": "exceed_context_size_error"}),
        ("This model's maximum context length is 4096 tokens, but you sent 5000.", {"code": 400}),
        ("prompt is too long: 205031 tokens > 200000 maximum", {"type": "invalid_request_error"}),
    ],
)
async def test_a_conversation_that_is_too_long(
    server: ChatServer, ask: Call, message: str, details: dict[str, object]
) -> None:
    server.will(answers({"error": {"message": message, **details}}, 400))

    with pytest.raises(ContextLengthError) as raised:
        await ask(server.model(), HI)

    assert raised.value.status == 400


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("inf", None),
        ("nan", None),
        ("1e9", 3600.0),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
async def test_retry_after_in_seconds_or_as_a_date_that_has_passed(
    server: ChatServer, value: str, expected: float | None
) -> None:
    server.will(fails(429, headers={"Retry-After": value}))

    with pytest.raises(RateLimitError) as raised:
        await server.model().generate(HI)

    assert raised.value.retry_after == expected


async def test_retry_after_is_an_hour_at_most(server: ChatServer) -> None:
    server.will(fails(503, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}))

    with pytest.raises(ModelServerError) as raised:
        await server.model().generate(HI)

    assert raised.value.retry_after == 3600


@pytest.mark.parametrize(
    ("content", "excerpt"),
    [
        (b"<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        (b"", "(empty)"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"detail": "x"}', '{"detail": "x"}'),
        (b'[{"error": {"message": "x"}}]', "x"),
        (b"\xff\xfe", "\ufffd"),
        (b'{"error": null}', "null"),
    ],
)
async def test_an_error_in_any_form_is_quoted(server: ChatServer, content: bytes, excerpt: str) -> None:
    server.will(answers(content, status=500))

    with pytest.raises(ModelServerError, match="HTTP 500") as raised:
        await server.model().generate(HI)

    assert excerpt in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"<html>", b'{"choices": [', b"\xff"])
async def test_an_answer_that_is_not_json(server: ChatServer, content: bytes) -> None:
    server.will(answers(content))

    with pytest.raises(MalformedResponseError, match=r"test:test-model: the answer is not JSON"):
        await server.model().generate(HI)


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        None,
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]},
        {"choices": [{"message": {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]}}]},
        {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}},
    ],
)
async def test_json_that_is_no_completion(server: ChatServer, body: object) -> None:
    server.will(answers(body))

    with pytest.raises(MalformedResponseError, match=r"test:test-model: the answer is not a chat completion") as raised:
        await server.model().generate(HI)

    assert raised.value.model == "test:test-model"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded"}, ModelServerError),
        ({"message": "overloaded", "code": 502}, ModelServerError),
        ({"message": "overloaded", "code": 429}, RateLimitError),
        ({"message": "overloaded", "code": "rate_limit_exceeded"}, RateLimitError),
        ({"message": "overloaded", "code": "invalid_prompt"}, ModelRequestError),
        ("overloaded", ModelServerError),
    ],
)
@both_ways
async def test_an_error_with_the_status_200(
    server: ChatServer, ask: Call, error: object, kind: type[ModelError]
) -> None:
    """Gateways such as OpenRouter have sent the status before they know that the model failed."""
    server.will(answers({"error": error}) if ask is generating else sends(sse({"error": error})))

    with pytest.raises(kind, match="test:test-model: overloaded") as raised:
        await ask(server.model(), HI)

    assert raised.value.model == "test:test-model"


BROKEN_OFF = chunk("error", content="")
COMPLETION = completion("half an", finish="error")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ({"code": "server_error", "message": "disconnected"}, ModelServerError, "disconnected"),
        ({"code": 429, "message": "slow down"}, RateLimitError, "slow down"),
        (None, ModelServerError, "broke the answer off"),
    ],
)
@both_ways
async def test_an_answer_that_an_error_of_the_provider_ends(
    server: ChatServer, ask: Call, error: object, kind: type[ModelError], message: str
) -> None:
    """OpenRouter sends the error beside the choice, which has the finish reason `error`."""
    whole = COMPLETION if error is None else {**COMPLETION, "error": error}
    last = BROKEN_OFF if error is None else {**BROKEN_OFF, "error": error}
    server.will(answers(whole) if ask is generating else sends(sse(chunk(content="half an"), last)))

    with pytest.raises(kind, match=message):
        await ask(server.model(), HI)


@pytest.mark.parametrize("choices", [None, []])
@both_ways
async def test_an_error_beside_no_choices(server: ChatServer, ask: Call, choices: object) -> None:
    body = {"choices": choices, "error": {"code": 502, "message": "overloaded"}}
    server.will(answers(body) if ask is generating else sends(sse(chunk("stop", content="half an"), body)))

    with pytest.raises(ModelServerError, match="overloaded"):
        await ask(server.model(), HI)


@pytest.mark.parametrize("event", ["{", "[]", "7", '{"choices": [7]}', '{"choices": null}'])
async def test_an_event_that_is_no_chunk(server: ChatServer, event: str) -> None:
    server.will(sends(f"data: {event}\n\n".encode()))

    with pytest.raises(MalformedResponseError, match="not a chat completion chunk") as raised:
        await streaming(server.model(), HI)

    assert event in str(raised.value)


async def test_an_answer_that_is_no_stream(server: ChatServer) -> None:
    server.will(answers(completion("hello")))

    with pytest.raises(MalformedResponseError, match="broke off"):
        await streaming(server.model(), HI)


async def test_a_stream_that_ends_in_the_middle_of_a_line(server: ChatServer) -> None:
    server.will(sends(sse(chunk(content="x"), done=False), b'data: {"choices": [{"de'))

    with pytest.raises(MalformedResponseError, match="not a chat completion chunk"):
        await streaming(server.model(), HI)


async def test_a_stream_that_ends_before_the_answer(server: ChatServer) -> None:
    server.will(sends(sse(chunk(content="x"), done=False)))

    with pytest.raises(MalformedResponseError, match="broke off before the answer ended"):
        await streaming(server.model(), HI)


async def test_a_connection_that_breaks_in_the_middle_of_a_stream(server: ChatServer) -> None:
    server.will(sends(sse(chunk(content="x"), done=False), b"data: {", breaks_off=True))

    with pytest.raises(ModelConnectionError, match=r"test:test-model: cannot reach http://127\.0\.0\.1"):
        await streaming(server.model(), HI)


@both_ways
async def test_a_connection_that_breaks_before_the_answer(server: ChatServer, ask: Call) -> None:
    server.will(hangs_up())

    with pytest.raises(ModelConnectionError, match=r"test:test-model: cannot reach http://127\.0\.0\.1"):
        await ask(server.model(), HI)


@both_ways
async def test_a_server_that_is_not_there(ask: Call) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{reserved.getsockname()[1]}"

        with pytest.raises(ModelConnectionError) as raised:
            await ask(RemoteModel("m", Endpoint("down", f"{address}/v1/chat/completions")), HI)

    assert str(raised.value) == f"down:m: cannot reach {address}: connection refused"


@both_ways
async def test_a_host_that_is_not_there(ask: Call) -> None:
    with pytest.raises(ModelConnectionError) as raised:
        await ask(RemoteModel("m", Endpoint("down", "http://nobody.invalid/v1/chat/completions")), HI)

    assert str(raised.value) == "down:m: cannot reach http://nobody.invalid: there is no such host, or no network"


@both_ways
async def test_an_address_that_is_none(ask: Call) -> None:
    with pytest.raises(ModelConnectionError, match="nowhere:m"):
        await ask(RemoteModel("m", Endpoint("nowhere", "no address at all")), HI)


@both_ways
async def test_an_answer_that_does_not_come_in_time(server: ChatServer, ask: Call) -> None:
    server.will(server.stall())

    with pytest.raises(ModelTimeoutError, match=r"test:test-model: no answer within 0\.5 s"):
        await ask(server.model(timeout=0.5), HI)

    await eventually(lambda: server.open_connections == 0)


async def test_a_stream_that_goes_silent(server: ChatServer) -> None:
    server.will(server.stall(sse(chunk(content="x"), done=False)))

    with pytest.raises(ModelTimeoutError):
        await streaming(server.model(timeout=0.5), HI)

    await eventually(lambda: server.open_connections == 0)


async def test_the_timeout_of_a_call_wins(server: ChatServer) -> None:
    server.will(server.stall())
    request = ModelRequest(HI.messages, options=LlmOptions(timeout=0.5))

    with pytest.raises(ModelTimeoutError, match=r"0\.5 s"):
        await server.model(timeout=60).generate(request)


@both_ways
async def test_a_redirect_takes_no_key_anywhere(server: ChatServer, ask: Call) -> None:
    async with ChatServer(answers(completion("stolen"))) as elsewhere:
        server.will(answers({}, 307, {"Location": f"{elsewhere.url}/v1/chat/completions"}))

        with pytest.raises(ModelRequestError, match=r"HTTP 307.*moved to") as raised:
            await ask(server.model(PROVIDERS["azure-openai"], key="sk-secret"), HI)

    assert elsewhere.received == []
    assert elsewhere.url in str(raised.value)


class TestKeysStaySecret:
    KEY = "sk-very-secret"

    def shown(self, value: object) -> str:
        error = value if isinstance(value, BaseException) else None
        trace = "".join(traceback.format_exception(error)) if error is not None else ""
        return f"{value!r} {value} {trace}"

    @pytest.mark.parametrize("name", PROVIDERS)
    def test_in_no_text_of_an_endpoint_or_a_model(self, name: str) -> None:
        endpoint = PROVIDERS[name].create_endpoint(self.KEY, "http://127.0.0.1")

        assert self.KEY not in self.shown(endpoint)
        assert self.KEY not in self.shown(RemoteModel("m", endpoint))

    @both_ways
    @pytest.mark.parametrize("status", [400, 401, 500])
    async def test_not_even_when_the_provider_echoes_them(self, server: ChatServer, ask: Call, status: int) -> None:
        for body in ({"error": {"message": f"Incorrect API key: {self.KEY}."}}, f"Bearer {self.KEY}"):
            server.will(answers(body, status))

            with pytest.raises(ModelError) as raised:
                await ask(server.model(PROVIDERS["openai"], key=self.KEY), HI)

            assert self.KEY not in self.shown(raised.value)
            assert "***" in str(raised.value)

    async def test_in_no_event(self, server: ChatServer) -> None:
        model = server.model(PROVIDERS["openai"], key=self.KEY)
        agent = Agent("A", model=model, instructions="Be kind")
        server.will(streams(chunk("stop", content="hello")))

        shown = [repr(event) async for event in agent.stream("hi", context=RunContext.over(model))]

        assert shown
        assert self.KEY not in "".join(shown)
        assert server.received[0].headers["authorization"] == f"Bearer {self.KEY}"

    async def test_but_an_error_that_quotes_something_else_is_left_as_it_is(self, server: ChatServer) -> None:
        server.will(fails(400, "a bad application/json request"))
        endpoint = replace(server.endpoint(), headers={"X-Title": "a", "X-None": ""})

        with pytest.raises(ModelRequestError, match="HTTP 400: a bad application/json request"):
            await RemoteModel("m", endpoint).generate(HI)

    @both_ways
    async def test_nor_in_the_address(self, ask: Call) -> None:
        address = f"http://user:{self.KEY}@127.0.0.1:1/v1?key={self.KEY}"

        with pytest.raises(ModelConnectionError) as raised:
            await ask(RemoteModel("m", Endpoint("down", address)), HI)

        assert self.KEY not in str(raised.value)
        assert "http://127.0.0.1:1" in str(raised.value)


@both_ways
async def test_only_keys_are_masked(server: ChatServer, ask: Call) -> None:
    quoted = "version 2023-06-01, type application/json, header sk-in-a-header, query sk-in-the-query, tenant our-team"
    headers = {"anthropic-version": "2023-06-01", "X-Custom": "sk-in-a-header"}
    url = f"{server.url}?api_key=sk-in-the-query&tenant=our-team"
    server.will(answers({"error": {"message": quoted}}, 400))

    with pytest.raises(ModelRequestError) as caught:
        await ask(RemoteModel("m", Endpoint("there", url, headers)), HI)

    masked = quoted.replace("sk-in-a-header", "***").replace("sk-in-the-query", "***")
    assert str(caught.value) == f"there:m: HTTP 400: {masked}"


async def test_a_content_filter_is_told_by_its_code_and_not_by_the_message() -> None:
    filtered = answers({"error": {"message": "blocked", "code": "content_filter"}}, 400)
    async with ChatServer(filtered, fails(400, "content_filter it is")) as server:
        with pytest.raises(ContentFilterError):
            await server.model().generate(ModelRequest((UserMessage("hi"),)))
        with pytest.raises(ModelRequestError):
            await server.model().generate(ModelRequest((UserMessage("hi"),)))
