"""Models and agents that speak with the strict fake of Anthropic over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel, Field

from tactician import Agent, Platform
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
from tactician.llm import LanguageModel, LlmOptions, ModelRequest, ModelResponse, Usage, UserMessage
from tactician.llm.model import Delta, TextDelta
from tactician.llm.wire import Dialect
from tactician.llm.wire.anthropic_messages import continue_paused, merge
from tests.support.anthropic_server import (
    BETA,
    DIALECTS,
    KEY,
    MODEL,
    AnthropicServer,
    error,
    events,
    fails,
    found,
    message,
    redacted,
    says,
    searching,
    streams,
    text,
    thinking,
    tool_use,
)
from tests.support.chat_server import answers, hangs_up, sends

HI = ModelRequest((UserMessage("hi"),))
HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01", "anthropic-beta": BETA}
USED = Usage(input_tokens=16, output_tokens=7, cache_read_tokens=3, cache_write_tokens=2, requests=1)


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer(says(text("hello"))) as running:
        yield running


async def streamed(model: LanguageModel, request: ModelRequest = HI) -> tuple[list[Delta], ModelResponse]:
    *deltas, last = [item async for item in model.stream(request)]
    assert isinstance(last, ModelResponse)
    return [one for one in deltas if not isinstance(one, ModelResponse)], last


async def run(server: AnthropicServer, agent: Agent[object], model: str = MODEL) -> object:
    """What an agent answers on this server."""
    platform = Platform(models=server.at(model, DIALECTS[model], HEADERS))
    return (await agent.run("Weather in Rome?", context=platform.context())).output


asked: list[str] = []


def weather(city: str) -> str:
    """The weather in a city."""
    asked.append(city)
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def _nobody_asked() -> None:
    asked.clear()


class Report(BaseModel):
    city: str = Field(min_length=1)
    celsius: int = Field(ge=-90, le=60)


class TestAgents:
    @pytest.mark.parametrize("model", DIALECTS)
    async def test_an_agent_uses_its_tools(self, server: AnthropicServer, model: str) -> None:
        called = [tool_use("1", "weather", {"city": "Rome"}), tool_use("2", "weather", {"city": "Bari"})]
        server.will(says(text("Let me see."), *called), says(text("Sunny in both.")))
        agent = Agent[object]("Ada", instructions="Be brief.", tools=[weather])

        assert await run(server, agent, model) == "Sunny in both."
        assert sorted(asked) == ["Bari", "Rome"]
        assert server.bodies[1]["messages"] == [
            {"role": "user", "content": [text("Weather in Rome?")]},
            {"role": "assistant", "content": [text("Let me see."), *called]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "sunny in Rome"},
                    {"type": "tool_result", "tool_use_id": "2", "content": "sunny in Bari"},
                ],
            },
        ]

    @pytest.mark.parametrize("model", DIALECTS)
    async def test_thinking_is_sent_back_across_a_call(self, server: AnthropicServer, model: str) -> None:
        thought = [thinking("", "sig-1"), redacted(), thinking("Rome it is", "sig-2")]
        server.will(says(*thought, tool_use("1", "weather", {"city": "Rome"})), says(text("Sunny.")))
        options = LlmOptions(reasoning_effort="high", temperature=0.2)
        agent = Agent[object]("Ada", model=options, tools=[weather])

        assert await run(server, agent, model) == "Sunny."
        messages = server.bodies[1]["messages"]
        assert isinstance(messages, list)
        assert messages[1]["content"] == [*thought, tool_use("1", "weather", {"city": "Rome"})]
        assert "temperature" not in server.bodies[1]

    @pytest.mark.parametrize("model", DIALECTS)
    async def test_a_typed_answer(self, server: AnthropicServer, model: str) -> None:
        server.will(says(text('{"city": "Rome", "celsius": 99}')), says(text('{"city": "Rome", "celsius": 30}')))

        answer = await run(server, Agent[object]("Ada", output_type=Report, tools=[weather]), model)

        assert answer == Report(city="Rome", celsius=30)

    async def test_a_typed_answer_with_a_map_is_asked_for_in_words(self, server: AnthropicServer) -> None:
        server.will(says(text('{"Rome": 30}')))

        assert await run(server, Agent[object]("Ada", output_type=dict[str, int])) == {"Rome": 30}
        assert "JSON schema" in str(server.bodies[0]["system"])

    async def test_a_bad_argument_goes_back_to_the_model(self, server: AnthropicServer) -> None:
        server.will(says(tool_use("1", "weather", {"town": "Rome"})), says(text("Which city?")))

        assert await run(server, Agent[object]("Ada", tools=[weather])) == "Which city?"
        messages = server.bodies[1]["messages"]
        assert isinstance(messages, list)
        assert messages[2]["content"][0]["is_error"] is True


class TestAnswers:
    async def test_an_answer_is_the_same_whole_and_streamed(self, server: AnthropicServer) -> None:
        server.will(says(thinking("Hm"), text("Grüße, 世界 🌍"), tool_use("1", "weather", {"city": "Rome"})))

        whole = await server.at().generate(HI)
        deltas, response = await streamed(server.at())

        assert response == whole
        assert (whole.usage, whole.finish_reason, whole.model) == (USED, "tool_calls", "claude-served")
        assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == "Grüße, 世界 🌍"

    @pytest.mark.parametrize("size", [1, 2, 7, 64])
    async def test_bytes_may_be_cut_anywhere(self, server: AnthropicServer, size: int) -> None:
        server.will(streams(*events(message(text("Grüße, 世界 🌍"), tool_use("1", "f", {"a": "ü"}))), size=size))

        _, response = await streamed(server.at())

        assert response.message.text == "Grüße, 世界 🌍"
        assert response.message.tool_calls[0].arguments == '{"a":"ü"}'

    async def test_a_paused_turn_goes_on(self, server: AnthropicServer) -> None:
        model = server.at("claude-opus-5-5", DIALECTS["claude-opus-5-5"])
        request = ModelRequest((UserMessage("News?"),), options=LlmOptions(native_tools=("web_search",)))
        server.will(
            says(text("Let me search."), searching("s", "news"), stop="pause_turn"),
            says(found("s"), searching("t", "more"), stop="pause_turn"),
            says(found("t"), text("None.")),
            says(text("You are welcome.")),
        )

        response = await model.generate(request)
        while (more := continue_paused(request, response)) is not None:
            response = merge(response, await model.generate(more))
        await model.generate(ModelRequest((*request.messages, response.message, UserMessage("Thanks"))))

        assert response.message.text == "Let me search.None."
        assert response.usage.requests == 3
        assert len(server.received) == 4


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "kind", "text", "expected"),
        [
            (400, "invalid_request_error", "prompt is too long: 201000 tokens > 200000 maximum", ContextLengthError),
            (
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 9 + 1 > 9",
                ContextLengthError,
            ),
            (400, "invalid_request_error", "no", ModelRequestError),
            (401, "authentication_error", "invalid x-api-key", AuthenticationError),
            (402, "billing_error", "no credit", AuthenticationError),
            (403, "permission_error", "no", AuthenticationError),
            (404, "not_found_error", "model: claude-9", ModelNotFoundError),
            (413, "request_too_large", "too large", ModelRequestError),
            (429, "rate_limit_error", "slow down", RateLimitError),
            (500, "api_error", "Internal server error", ModelServerError),
            (504, "timeout_error", "timed out", ModelServerError),
            (529, "overloaded_error", "Overloaded", RateLimitError),
        ],
    )
    async def test_every_error_is_typed_and_says_what_anthropic_says(
        self, server: AnthropicServer, status: int, kind: str, text: str, expected: type[ModelError]
    ) -> None:
        server.will(fails(status, kind, text))

        with pytest.raises(ModelError) as caught:
            await server.at().generate(HI)

        assert type(caught.value) is expected
        assert caught.value.status == status
        assert text in str(caught.value)

    async def test_the_time_to_wait_is_passed_on(self, server: AnthropicServer) -> None:
        server.will(fails(429, "rate_limit_error", headers={"retry-after": "7"}))

        with pytest.raises(RateLimitError) as caught:
            await server.at().generate(HI)
        assert caught.value.retry_after == 7

    async def test_an_error_that_quotes_the_key_does_not_show_it(self, server: AnthropicServer) -> None:
        server.will(fails(401, "authentication_error", f"invalid key {KEY}"))

        with pytest.raises(AuthenticationError) as caught:
            await server.at().generate(HI)
        assert KEY not in str(caught.value)

    async def test_an_error_before_a_stream_begins(self, server: AnthropicServer) -> None:
        server.will(fails(529, "overloaded_error", "Overloaded"))

        with pytest.raises(RateLimitError, match="Overloaded"):
            await streamed(server.at())

    async def test_an_error_in_the_middle_of_a_stream(self, server: AnthropicServer) -> None:
        server.will(streams(*events(message(text("hello")))[:4], error("overloaded_error", "Overloaded")))

        with pytest.raises(RateLimitError, match="anthropic:claude-haiku-4-5: overloaded_error: Overloaded"):
            await streamed(server.at())

    async def test_a_stream_that_ends_too_early(self, server: AnthropicServer) -> None:
        server.will(streams(*events(message(text("hello")))[:4]))

        with pytest.raises(MalformedResponseError, match="broke off"):
            await streamed(server.at())

    async def test_a_stream_whose_connection_is_cut(self, server: AnthropicServer) -> None:
        server.will(streams(*events(message(text("hello")))[:4], breaks_off=True))

        with pytest.raises(ModelConnectionError):
            await streamed(server.at())

    async def test_a_stream_that_stops_half_way_through_a_line(self, server: AnthropicServer) -> None:
        server.will(sends(b'event: message_start\ndata: {"type":"message_st'))

        with pytest.raises(MalformedResponseError):
            await streamed(server.at())

    async def test_a_stream_that_stalls(self, server: AnthropicServer) -> None:
        server.will(server.stall(b'event: ping\ndata: {"type": "ping"}\n\n'))

        with pytest.raises(ModelTimeoutError):
            await streamed(server.at(timeout=0.5))

    async def test_a_connection_without_an_answer(self, server: AnthropicServer) -> None:
        server.will(hangs_up())

        with pytest.raises(ModelConnectionError):
            await server.at().generate(HI)

    @pytest.mark.parametrize("answer", [b"<html>", {"choices": []}, [], error("api_error")])
    async def test_an_answer_that_is_no_message(self, server: AnthropicServer, answer: object) -> None:
        server.will(answers(answer))

        with pytest.raises(MalformedResponseError):
            await server.at().generate(HI)

    async def test_what_the_fake_refuses_arrives_as_an_error(self, server: AnthropicServer) -> None:
        wrong = server.at("claude-opus-4-7", Dialect())

        with pytest.raises(ModelRequestError, match="`temperature` is not supported for this model"):
            await wrong.generate(ModelRequest((UserMessage("hi"),), options=LlmOptions(temperature=0.5)))
        with pytest.raises(AuthenticationError, match="x-api-key header is required"):
            await server.at(headers={"anthropic-version": "2023-06-01"}).generate(HI)
