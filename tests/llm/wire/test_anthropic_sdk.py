"""The official SDK says the same: it sends the same bodies, and it understands the same answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping

import anthropic
import pytest
from anthropic.types import MessageParam, TextBlockParam, ToolParam
from pydantic import BaseModel, Field

from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
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
from tactician.llm.messages import ProviderItem, SystemMessage
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.schema import close_schema
from tactician.llm.wire import Dialect
from tactician.llm.wire.anthropic_messages import FORMAT, adapt_schema, decode
from tests.support.anthropic_server import (
    KEY,
    MODEL,
    AnthropicServer,
    fails,
    found,
    message,
    redacted,
    says,
    searching,
    text,
    thinking,
    tool_use,
)

SCHEMA: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather in a city.", SCHEMA)
WEATHER_PARAM: ToolParam = {"name": "weather", "description": "The weather in a city.", "input_schema": SCHEMA}
HI: MessageParam = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
NEW = "claude-opus-4-7"


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer(says(text("hello"))) as running:
        yield running


@pytest.fixture
async def sdk(server: AnthropicServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url, max_retries=0) as client:
        yield client


def ask(*messages: Message | str, **details: object) -> ModelRequest:
    said = (UserMessage(one) if isinstance(one, str) else one for one in messages or ("hi",))
    return ModelRequest(tuple(said), **details)  # type: ignore[arg-type]  # details are a request's own fields


async def same(
    server: AnthropicServer, request: ModelRequest, dialect: Dialect | None = None, model: str = MODEL
) -> None:
    """Sends the request after the SDK has sent its own, and compares the two bodies."""
    await server.at(model, dialect).generate(request)
    theirs, ours = server.received[-2], server.received[-1]
    assert ours.body == theirs.body
    assert ours.path == theirs.path
    assert ours.headers["content-type"] == theirs.headers["content-type"]


class TestBodies:
    async def test_text_and_instructions(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(model=MODEL, max_tokens=4096, system="Be brief", messages=[HI])

        await same(server, ask(SystemMessage("Be brief"), "hi"))

    async def test_cached_instructions(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        system: list[TextBlockParam] = [
            {"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Be kind"},
        ]
        await sdk.messages.create(model=MODEL, max_tokens=4096, system=system, messages=[HI])

        await same(server, ask(SystemMessage("Be brief"), "hi", SystemMessage("Be kind")), Dialect(caches_system=True))

    async def test_sampling(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        """The SDK has no arguments for them any more, nor has the version of the API that it asks for."""
        extra = {"temperature": 0.5, "top_k": 3}
        version = {"anthropic-version": "2023-06-01"}
        await sdk.messages.create(model=MODEL, max_tokens=9, messages=[HI], extra_body=extra, extra_headers=version)

        await same(server, ask(options=LlmOptions(temperature=0.5, top_k=3, max_tokens=9)))

    async def test_pictures_and_documents(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL,
            max_tokens=4096,
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What are these?"},
                        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "iVBORw=="}},
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                            "title": "a.pdf",
                        },
                        {
                            "type": "document",
                            "source": {"type": "url", "url": "https://example.com/b.pdf"},
                            "title": "b.pdf",
                        },
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "# Grüße"},
                            "title": "c.md",
                        },
                    ],
                }
            ],
        )

        shown = (
            Image(url="https://example.com/a.png"),
            Image.from_bytes(b"\x89PNG", "image/jpeg"),
            Document.from_bytes(b"%PDF", name="a.pdf"),
            Document(url="https://example.com/b.pdf", name="b.pdf"),
            Document.from_bytes("# Grüße".encode(), "text/markdown", "c.md"),
        )
        await same(server, ask(UserMessage((Text("What are these?"), *shown))))

    async def test_tools_and_what_came_of_them(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL,
            max_tokens=4096,
            tools=[WEATHER_PARAM],
            messages=[
                HI,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me see"},
                        {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Rome"}},
                        {"type": "tool_use", "id": "2", "name": "weather", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "1", "content": "sunny"},
                        {"type": "tool_result", "tool_use_id": "2", "content": "which city?", "is_error": True},
                        {"type": "text", "text": "Go on"},
                    ],
                },
            ],
        )

        calls = (Text("Let me see"), ToolCall("1", "weather", '{"city": "Rome"}'), ToolCall("2", "weather", "{}"))
        results = (ToolResult("1", "weather", "sunny"), ToolResult("2", "weather", "which city?", is_error=True))
        await same(server, ask("hi", AssistantMessage(calls), *results, "Go on", tools=(WEATHER,)))

    async def test_no_tool(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL, max_tokens=4096, messages=[HI], tools=[WEATHER_PARAM], tool_choice={"type": "none"}
        )

        await same(server, ask(tools=(WEATHER,), tool_choice="none"))

    async def test_one_tool_of_any(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL,
            max_tokens=4096,
            messages=[HI],
            tools=[WEATHER_PARAM],
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
        )

        await same(server, ask(tools=(WEATHER,), tool_choice="required"), Dialect(parallel_tool_calls=False))

    async def test_a_certain_tool(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL,
            max_tokens=4096,
            messages=[HI],
            tools=[WEATHER_PARAM],
            tool_choice={"type": "tool", "name": "weather"},
        )

        await same(server, ask(tools=(WEATHER,), tool_choice="weather"))

    async def test_tools_that_anthropic_runs(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL,
            max_tokens=4096,
            messages=[HI],
            tools=[
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
                {"type": "code_execution_20250825", "name": "code_execution"},
            ],
        )

        await same(server, ask(options=LlmOptions(native_tools=("web_search", "code_interpreter"))))

    async def test_thinking_within_a_budget(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=MODEL, max_tokens=6144, messages=[HI], thinking={"type": "enabled", "budget_tokens": 2048}
        )

        options = LlmOptions(reasoning_effort="low", max_tokens=6144, temperature=0.3)
        await same(server, ask(options=options), Dialect(thinking="budget"))

    async def test_adaptive_thinking(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=NEW,
            max_tokens=4096,
            messages=[HI],
            thinking={"type": "adaptive", "display": "summarized"},
            output_config={"effort": "xhigh"},
        )

        dialect = Dialect(thinking="adaptive", thinking_display="summarized", temperature=False, top_k=False)
        options = LlmOptions(reasoning_effort="xhigh", temperature=0.3, top_p=0.5, top_k=1)
        await same(server, ask(options=options), dialect, NEW)

    async def test_no_thinking(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(model=NEW, max_tokens=4096, messages=[HI], thinking={"type": "disabled"})

        dialect = Dialect(thinking="adaptive", no_reasoning={"thinking": {"type": "disabled"}})
        await same(server, ask(options=LlmOptions(reasoning_effort="none")), dialect, NEW)

    async def test_thinking_that_is_replayed(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        await sdk.messages.create(
            model=NEW,
            max_tokens=4096,
            tools=[WEATHER_PARAM],
            thinking={"type": "adaptive"},
            messages=[
                HI,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "", "signature": "s1"},
                        {"type": "redacted_thinking", "data": "secret"},
                        {"type": "tool_use", "id": "1", "name": "weather", "input": {}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "sunny"}]},
            ],
        )

        hidden = ProviderItem(FORMAT, '{"type":"redacted_thinking","data":"secret"}')
        answer = AssistantMessage((Thinking("", "s1"), hidden, ToolCall("1", "weather")))
        request = ask("hi", answer, ToolResult("1", "weather", "sunny"), tools=(WEATHER,))
        asked = ModelRequest(request.messages, request.tools, options=LlmOptions(reasoning_effort="enabled"))
        await same(server, asked, Dialect(thinking="adaptive"), NEW)

    async def test_structured_output(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        class Trip(BaseModel):
            city: str = Field(min_length=1, description="where to")
            days: int = Field(ge=1)

        server.will(says(text('{"city": "Rome", "days": 2}')))
        await sdk.messages.parse(model=NEW, max_tokens=4096, messages=[HI], output_format=Trip)

        schema = adapt_schema(close_schema(Trip.model_json_schema()))
        ours = await server.at(NEW).generate(ask(output=OutputSpec("Trip", close_schema(Trip.model_json_schema()))))
        theirs = server.bodies[0]["output_config"]
        assert server.bodies[1]["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
        assert without_titles(server.bodies[1]["output_config"]) == without_titles(theirs)
        assert Trip.model_validate_json(ours.message.text) == Trip(city="Rome", days=2)

    async def test_a_stream_is_asked_for(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        async with sdk.messages.stream(model=MODEL, max_tokens=4096, messages=[HI]) as stream:
            await stream.get_final_message()

        assert [item async for item in server.at().stream(ask())]
        assert server.bodies[1] == server.bodies[0]


def without_titles(value: object) -> object:
    """Our schemas have no titles."""
    if isinstance(value, dict):
        return {name: without_titles(inner) for name, inner in value.items() if name != "title"}
    return value


def readable(response: ModelResponse) -> tuple[object, ...]:
    """A response without the order of the fields in the blocks that only Anthropic understands."""
    parts = [json.loads(part.data) if isinstance(part, ProviderItem) else part for part in response.message.parts]
    return parts, response.usage, response.finish_reason, response.model


class TestAnswers:
    """The fake speaks as Anthropic does, if the SDK understands it."""

    CONTENT = (
        thinking("Hm", "sig"),
        redacted(),
        text("Let me look it up."),
        searching("srvtoolu_1", "weather"),
        found("srvtoolu_1"),
        tool_use("toolu_1", "weather", {"city": "Rome"}),
    )

    async def test_the_sdk_reads_every_block(self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic) -> None:
        server.will(says(*self.CONTENT))

        answer = await sdk.messages.create(model=MODEL, max_tokens=9, messages=[HI])

        assert [block.to_dict() for block in answer.content] == list(self.CONTENT)
        assert answer.stop_reason == "tool_use"
        assert readable(decode(answer.to_dict())) == readable(decode(message(*self.CONTENT)))

    async def test_the_sdk_puts_a_stream_together_as_we_do(
        self, server: AnthropicServer, sdk: anthropic.AsyncAnthropic
    ) -> None:
        server.will(says(*self.CONTENT))

        async with sdk.messages.stream(model=MODEL, max_tokens=9, messages=[HI]) as stream:
            theirs = await stream.get_final_message()
        *_, ours = [item async for item in server.at().stream(ask())]

        assert isinstance(ours, ModelResponse)
        assert readable(ours) == readable(decode(theirs.to_dict()))

    @pytest.mark.parametrize(
        ("status", "kind", "expected"),
        [
            (400, "invalid_request_error", anthropic.BadRequestError),
            (429, "rate_limit_error", anthropic.RateLimitError),
            (529, "overloaded_error", anthropic.InternalServerError),
        ],
    )
    async def test_the_sdk_reads_errors(
        self,
        server: AnthropicServer,
        sdk: anthropic.AsyncAnthropic,
        status: int,
        kind: str,
        expected: type[anthropic.APIStatusError],
    ) -> None:
        server.will(fails(status, kind, "too bad"))

        with pytest.raises(expected) as caught:
            await sdk.messages.create(model=MODEL, max_tokens=9, messages=[HI])

        body = caught.value.body
        assert isinstance(body, Mapping)
        assert body["error"] == {"type": kind, "message": "too bad"}
