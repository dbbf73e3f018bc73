"""Every provider passes one suite, against a fake that refuses what the provider refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial

import pytest
from pydantic import BaseModel, Field

from tactician.errors import (
    AuthenticationError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
    UnsupportedFeatureError,
)
from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
    LanguageModel,
    LlmOptions,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import Delta, OutputSpec, TextDelta, ThinkingDelta, ToolCallDelta, ToolSpec
from tactician.llm.provider import join_url
from tactician.llm.providers import PROVIDERS
from tactician.llm.request_adapter import adapt_request
from tactician.llm.schema import close_schema
from tests.support.chat_server import Reply, answers, cut, hangs_up, sends
from tests.support.strict_servers import KEY, SITES, StrictServer
from tests.support.voices import Saying, says


class City(BaseModel):
    name: str = Field(min_length=1)
    size: int | None = None


WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
STRICT = ToolSpec("find", "Finds a city.", close_schema(City.model_json_schema()))
CALLS = (ToolCall("callnr001", "weather", '{"city":"Paris"}'), ToolCall("callnr002", "weather", '{"city":"Rome"}'))
CITY = OutputSpec("City", close_schema(City.model_json_schema()))
EVERYTHING = LlmOptions(temperature=0.5, top_p=0.9, top_k=5, max_tokens=100, seed=7, reasoning_effort="medium")
CONVERSATION: tuple[Message, ...] = (
    SystemMessage("Be brief."),
    UserMessage("Weather in Paris and Rome?"),
    AssistantMessage((Thinking("Two calls."), ToolCall("call_made_elsewhere", "weather", "{}"), CALLS[1])),
    ToolResult("call_made_elsewhere", "weather", "sunny"),
    ToolResult(CALLS[1].id, "weather", "no such city", is_error=True),
    AssistantMessage((Thinking("Done."), Text("Sunny in Paris."))),
    UserMessage("And tomorrow?"),
)


def ask(*messages: Message, **details: object) -> ModelRequest:
    return ModelRequest(messages or (UserMessage("hi"),), **details)  # type: ignore[arg-type]


async def streamed(model: LanguageModel, request: ModelRequest) -> tuple[list[Delta], ModelResponse]:
    *deltas, last = [item async for item in model.stream(request)]
    assert isinstance(last, ModelResponse)
    return [delta for delta in deltas if not isinstance(delta, ModelResponse)], last


async def both(model: LanguageModel, request: ModelRequest) -> ModelResponse:
    """The answer, which is the same whole and streamed."""
    whole = await model.generate(request)
    deltas, last = await streamed(model, request)
    assert last == whole
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == whole.message.text
    assert "".join(one.text for one in deltas if isinstance(one, ThinkingDelta)) == whole.message.thinking
    for index, call in enumerate(whole.message.tool_calls):
        pieces = [one for one in deltas if isinstance(one, ToolCallDelta) and one.index == index]
        assert {(piece.id, piece.name) for piece in pieces} == {(call.id, call.name)}
        assert json.loads("".join(piece.arguments for piece in pieces)) == json.loads(call.arguments)
    return whole


@pytest.fixture(params=SITES)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[StrictServer]:
    async with StrictServer(SITES[request.param]) as running:
        yield running


def supports(server: StrictServer, feature: str) -> bool:
    check = server.serve().endpoint.feature_check
    return check is not None and feature in check.supported


class TestRequests:
    """What goes out is what the provider takes; nothing that is asked for is refused."""

    async def test_text(self, server: StrictServer) -> None:
        response = await both(server.serve(), ask())

        assert response.message.parts == (Text("hello"),)
        assert response.finish_reason == "stop"
        assert (response.usage.input_tokens > 0, response.usage.output_tokens, response.usage.requests) == (True, 7, 1)
        assert response.usage.cache_read_tokens == 3

    async def test_options_that_the_model_refuses_are_left_out(self, server: StrictServer) -> None:
        for effort in (None, "none", "minimal", "low", "medium", "high", "xhigh", "enabled"):
            options = replace(EVERYTHING, reasoning_effort=effort)

            assert (await both(server.serve(), ask(options=options))).message.text == "hello"

    async def test_a_whole_conversation(self, server: StrictServer) -> None:
        assert (await both(server.serve(), ask(*CONVERSATION, tools=(WEATHER,)))).message.text == "hello"

    async def test_parallel_tools(self, server: StrictServer) -> None:
        server.will(says(server.site.voice, Saying("Let me look.", calls=CALLS)))

        response = await both(server.serve(), ask(tools=(WEATHER, STRICT)))

        assert response.finish_reason == "tool_calls"
        assert [(c.id, c.name, c.parse_arguments()) for c in response.message.tool_calls] == [
            ("callnr001", "weather", {"city": "Paris"}),
            ("callnr002", "weather", {"city": "Rome"}),
        ]

    async def test_an_answer_goes_back_as_it_came(self, server: StrictServer) -> None:
        server.will(says(server.site.voice, Saying("Let me look.", "Hm.", CALLS)))
        asked = ask(tools=(WEATHER,), options=LlmOptions(reasoning_effort="high"))
        message = (await both(server.serve(), asked)).message
        results = [ToolResult(call.id, call.name, "sunny") for call in message.tool_calls]

        later = ask(*asked.messages, message, *results, tools=asked.tools, options=asked.options)

        assert (await both(server.serve(), later)).message.thinking == "Hm."

    @pytest.mark.parametrize("choice", ["auto", "none", "required", "weather"])
    async def test_tool_choice(self, server: StrictServer, choice: str) -> None:
        assert (await both(server.serve(), ask(tools=(WEATHER, STRICT), tool_choice=choice))).message.text == "hello"

    async def test_structured_output(self, server: StrictServer) -> None:
        model = server.serve()
        fitted, restore = adapt_request(ask(output=CITY), model.features)
        saying = Saying('{"name":"Rome","size":null}')
        if fitted.tools:
            saying = Saying(calls=(ToolCall("callnr001", fitted.tools[0].name, saying.text),))
        server.will(says(server.site.voice, saying))

        response = await both(model, fitted)

        answer = response if restore is None else restore(response)
        assert City.model_validate_json(answer.message.text) == City(name="Rome")

    async def test_pictures_and_documents(self, server: StrictServer) -> None:
        for feature, part in (
            ("vision", Image.from_bytes(b"\x89PNG\r\n\x1a\n")),
            ("vision", Image(url="https://example.com/a.png")),
            ("documents", Document.from_bytes(b"%PDF")),
        ):
            request = ask(UserMessage((Text("What is this?"), part)))
            if supports(server, feature):
                assert (await both(server.serve(), request)).message.text == "hello"
            else:
                with pytest.raises(UnsupportedFeatureError, match=f"does not support {feature}"):
                    await server.serve().generate(request)

    @pytest.mark.parametrize("tool", ["web_search", "code_interpreter", "teleporter"])
    async def test_native_tools(self, server: StrictServer, tool: str) -> None:
        request = ask(options=LlmOptions(native_tools=(tool,)))
        if supports(server, tool):
            assert (await both(server.serve(), request)).message.text == "hello"
        else:
            with pytest.raises(UnsupportedFeatureError) as raised:
                await server.serve().generate(request)
            assert (raised.value.instance, raised.value.feature) == (server.site.provider.name, tool)
            assert "function_calling" in raised.value.supported
            assert not server.received

    async def test_thinking_comes_before_the_text(self, server: StrictServer) -> None:
        server.will(says(server.site.voice, Saying("42", "Six times seven")))

        message = (await both(server.serve(), ask())).message

        assert (message.thinking, message.text) == ("Six times seven", "42")

    async def test_an_answer_that_is_too_long(self, server: StrictServer) -> None:
        server.will(says(server.site.voice, Saying("and so", cut_off=True)))

        assert (await both(server.serve(), ask())).finish_reason == "length"


class TestFailures:
    @pytest.mark.parametrize("after", [None, 7.0])
    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, ModelRequestError),
            (401, AuthenticationError),
            (403, AuthenticationError),
            (404, ModelNotFoundError),
            (429, RateLimitError),
            (500, ModelServerError),
            (502, ModelServerError),
            (529, RateLimitError),
        ],
    )
    async def test_statuses(
        self, server: StrictServer, status: int, kind: type[ModelError], after: float | None
    ) -> None:
        headers = {"Retry-After": "7"} if after is not None else {}
        server.will(answers(server.site.voice.error(f"not now, {KEY}"), status, headers))

        for call in (server.serve().generate, partial(streamed, server.serve())):
            with pytest.raises(kind, match=f"HTTP {status}: not now") as raised:
                await call(ask())
            assert (raised.value.status, raised.value.retry_after) == (status, after)
            assert KEY not in str(raised.value)

    async def test_a_server_that_stalls(self, server: StrictServer) -> None:
        pieces: Sequence[bytes] = cut(server.site.voice.stream(Saying("hello")), 40)
        for reply in (server.stall(), server.stall(*pieces[:1])):
            server.will(reply)
            with pytest.raises(ModelTimeoutError):
                await streamed(server.serve(timeout=0.5), ask())
        with pytest.raises(ModelTimeoutError):
            await server.serve(timeout=0.5).generate(ask())

    async def test_a_server_that_hangs_up(self, server: StrictServer) -> None:
        server.will(hangs_up())

        for call in (server.serve().generate, partial(streamed, server.serve())):
            with pytest.raises(ModelConnectionError):
                await call(ask())

    async def test_a_stream_that_is_cut(self, server: StrictServer) -> None:
        """Wherever the end comes, there is an error, and never half an answer."""
        data = server.site.voice.stream(Saying("hello", "Hm", CALLS))
        whole = await self._streams(server, sends(data))
        for end in range(0, len(data) - 1, 97):
            for breaks_off in (False, True):
                try:
                    response = await self._streams(server, sends(data[:end], breaks_off=breaks_off))
                except ModelError:
                    continue
                # What follows the end of the answer may be lost: the usage, and the mark of the end.
                assert response.message == whole.message

    async def _streams(self, server: StrictServer, reply: Reply) -> ModelResponse:
        server.will(reply)
        return (await streamed(server.serve(), ask()))[1]

    @pytest.mark.parametrize("size", [1, 3, 64])
    async def test_bytes_may_be_cut_anywhere(self, server: StrictServer, size: int) -> None:
        data = server.site.voice.stream(Saying("Grüße, 世界 🌍", "Hm 🤔", CALLS))
        server.will(sends(data), sends(*cut(data, size)))

        assert await streamed(server.serve(), ask()) == await streamed(server.serve(), ask())

    @pytest.mark.parametrize("content", [b"", b"<html>", b'{"choices": [', b"\xff", b"[]", b"{}", b"null", b'"text"'])
    async def test_malformed_answers(self, server: StrictServer, content: bytes) -> None:
        server.will(answers(content))

        with pytest.raises(MalformedResponseError):
            await server.serve().generate(ask())

    @pytest.mark.parametrize(
        "content", [b"", b"data: {\n\n", b"data: []\n\n", b"data: 7\n\n", b"<html>", b"event: x\n"]
    )
    async def test_malformed_streams(self, server: StrictServer, content: bytes) -> None:
        server.will(sends(content))

        with pytest.raises(MalformedResponseError):
            await streamed(server.serve(), ask())


class TestSites:
    """The fakes are strict: what they would refuse, was not left out by chance."""

    @pytest.mark.parametrize(
        ("site", "body"),
        [
            ("openai", {"temperature": 1}),
            ("openai", {"reasoning": {"effort": "minimal"}}),
            ("openai", {"messages": []}),
            ("openai-elsewhere", {"max_tokens": 5}),
            ("mistral", {"messages": [{"role": "developer", "content": "x"}]}),
            ("mistral", {"reasoning_effort": "high"}),
            ("mistral", {"top_k": 3}),
            ("mistral", {"seed": 7}),
            ("gemini", {"seed": 7}),
            ("grok", {"reasoning_effort": "high"}),
            ("deepseek", {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}}),
            ("anthropic", {"temperature": 1}),
        ],
    )
    async def test_what_is_refused(self, site: str, body: dict[str, object]) -> None:
        async with StrictServer(SITES[site]) as server:
            model = server.serve()
            extra = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 9, "model": model.model}
            chat = {} if site == "openai" else {"max_completion_tokens": 9} if site == "openai-elsewhere" else extra
            from tactician.llm.http import post_json

            sent = {"model": model.model, **chat, **body}
            if "openai" in site:
                sent |= {"input": "x"} if site == "openai" else {"messages": extra["messages"]}
            with pytest.raises(ModelRequestError, match="HTTP 400"):
                await post_json(model.endpoint.url, sent, dict(model.endpoint.headers), 5, "m")

    @pytest.mark.parametrize("site", ["azure-openai", "azure-mistral", "azure-grok"])
    async def test_a_missing_version(self, site: str) -> None:
        async with StrictServer(SITES[site]) as server:
            endpoint = server.serve().endpoint
            from tactician.llm.http import post_json

            with pytest.raises(ModelNotFoundError):
                await post_json(endpoint.url.partition("?")[0], {"model": "m"}, dict(endpoint.headers), 5, "m")


def test_no_provider_is_left_out() -> None:
    assert set(PROVIDERS) <= set(SITES)


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://a", "/v1/chat", "https://a/v1/chat"),
        ("https://a/", "/v1/chat", "https://a/v1/chat"),
        ("https://a/v1", "/v1/chat", "https://a/v1/chat"),
        ("https://a/v1/", "/v1/chat", "https://a/v1/chat"),
        ("https://a/v1/chat", "/v1/chat", "https://a/v1/chat"),
        (
            "https://a/openai/v1",
            "/openai/v1/responses?api-version=preview",
            "https://a/openai/v1/responses?api-version=preview",
        ),
        ("https://a/x", "/v1/chat", "https://a/x/v1/chat"),
        ("https://av1", "/v1/chat", "https://av1/v1/chat"),
        ("https://a/api", "/v1/chat", "https://a/api/v1/chat"),
    ],
)
def test_a_base_url_may_have_the_beginning_of_the_path(base: str, path: str, url: str) -> None:
    assert join_url(base, path) == url
