"""Where and how a responder reaches a model, what it sends there, and what keeps it from being used."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from time import process_time

import pytest

from tactician.clock import Timer
from tactician.errors import ConfigurationError, ModelError, ModelServerError
from tactician.llm import (
    AssistantMessage,
    LlmOptions,
    ModelRequest,
    ModelResponse,
    Responder,
    RetrySettings,
    Text,
    TraceMetadata,
    UserMessage,
)
from tactician.llm.model import TextDelta
from tactician.llm.provider_access import ApiFormat
from tests.support.chat_server import ChatServer, Reply, fails, hangs_up
from tests.support.voices import VOICES, Saying, says

KEY = "sk-secret-0123456789"
KEYS = {
    "OPENAI_API_KEY": KEY,
    "OPENROUTER_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "GEMINI_API_KEY": KEY,
    "MY_KEY": KEY,
}
HI = ModelRequest((UserMessage("hi"),))
HELLO = says(VOICES["openai-responses"], Saying("hello"))
AZURE = "my-resource.openai.azure.com"


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer(HELLO) as running:
        yield running


class Hurried:
    """A clock whose pauses take no time, and are noted."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return 1000.0 + sum(self.pauses)

    time = monotonic

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


class TestWhere:
    @pytest.mark.parametrize(
        ("responder", "url"),
        [
            (Responder(provider="OPENAI"), "https://api.openai.com/v1/responses"),
            (Responder(provider="OPEN_ROUTER"), "https://openrouter.ai/api/v1/responses"),
            (Responder(provider="openrouter"), "https://openrouter.ai/api/v1/responses"),
            (Responder(provider="ANTHROPIC"), "https://api.anthropic.com/v1/messages"),
            (
                Responder(provider="GEMINI"),
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (Responder(provider="OLLAMA"), "http://localhost:11434/v1/chat/completions"),
            (Responder(base_url="https://api.openai.com/v1"), "https://api.openai.com/v1/responses"),
            (Responder(base_url="https://openrouter.ai/api"), "https://openrouter.ai/api/v1/responses"),
            (
                Responder(base_url="https://openrouter.ai/api/v1/chat/completions", api_format="openai-chat"),
                "https://openrouter.ai/api/v1/chat/completions",
            ),
        ],
        ids=str,
    )
    def test_a_provider_is_where_it_always_is(self, responder: Responder, url: str) -> None:
        assert responder.create_model("m", environment=KEYS).endpoint.url == url

    @pytest.mark.parametrize(
        ("given", "spoken", "path"),
        [
            ("", "openai-responses", "/v1/responses"),
            ("/v1/", "openai-responses", "/v1/responses"),
            ("/gateway", "openai-responses", "/gateway/responses"),
            ("/gateway/v2/responses", "openai-responses", "/gateway/v2/responses"),
            ("/v1/responses?tenant=t&x=1", "openai-responses", "/v1/responses?tenant=t&x=1"),
            ("", "openai-chat", "/v1/chat/completions"),
            ("/api/v1", "openai-chat", "/api/v1/chat/completions"),
            ("/v1/chat/completions", "openai-chat", "/v1/chat/completions"),
            ("", "anthropic-messages", "/v1/messages"),
            ("/anthropic", "anthropic-messages", "/anthropic/v1/messages"),
            ("/anthropic/v1/messages", "anthropic-messages", "/anthropic/v1/messages"),
        ],
    )
    async def test_a_base_url_gets_the_path_of_the_format(self, given: str, spoken: ApiFormat, path: str) -> None:
        async with ChatServer(says(VOICES[spoken], Saying("hello"))) as server:
            responder = Responder(base_url=server.url + given, api_format=spoken, api_key_env="MY_KEY")
            response = await responder.create_model("m", environment=KEYS).generate(HI)
        assert response.message.text == "hello"
        assert server.received[0].path == path

    async def test_the_environment_says_where_a_provider_is(self, server: ChatServer) -> None:
        environment = {**KEYS, "OPENROUTER_BASE_URL": server.url}
        await Responder(provider="OPEN_ROUTER").create_model("openai/gpt-4o", environment=environment).generate(HI)
        [received] = server.received
        assert received.path == "/v1/responses"
        assert (received.body["model"], received.headers["authorization"]) == ("openai/gpt-4o", f"Bearer {KEY}")


class TestAzure:
    @pytest.fixture
    async def base(self, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> str:
        """The address of a resource, which leads to the server."""
        known = socket.getaddrinfo

        def find(host: str | None, *details: object, **others: object) -> object:
            return known("127.0.0.1" if host == AZURE else host, *details, **others)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "getaddrinfo", find)
        return f"http://{AZURE}:{server.url.rpartition(':')[2]}"

    @pytest.mark.parametrize(
        ("given", "path"),
        [
            ("/openai", "/openai/v1/responses?api-version=preview"),
            ("", "/openai/v1/responses?api-version=preview"),
            ("/openai/v1/responses?api-version=2026-05-01", "/openai/v1/responses?api-version=2026-05-01"),
            ("/openai/responses?api-version=2025-04-01", "/openai/responses?api-version=2025-04-01"),
        ],
    )
    async def test_it_is_spoken_to_as_azure_is(self, base: str, given: str, path: str, server: ChatServer) -> None:
        model = Responder(base_url=base + given, api_key_env="MY_KEY").create_model("gpt-4o", environment=KEYS)
        assert (await model.generate(HI)).message.text == "hello"
        [received] = server.received
        assert received.path == path
        assert received.headers["api-key"] == KEY
        assert "authorization" not in received.headers

    def test_all_formats_are_known_there(self) -> None:
        def url(spoken: ApiFormat) -> str:
            responder = Responder(base_url=f"https://{AZURE}", api_key_env="MY_KEY", api_format=spoken)
            return responder.create_model("m", environment=KEYS).endpoint.url

        assert url("openai-chat") == f"https://{AZURE}/openai/v1/chat/completions?api-version=preview"
        assert url("anthropic-messages") == f"https://{AZURE}/anthropic/v1/messages"

    def test_a_host_that_only_sounds_like_it_is_not(self) -> None:
        responder = Responder(base_url="https://openai.azure.com.evil.example/v1", api_key_env="MY_KEY")
        assert "api-key" not in responder.create_model("m", environment=KEYS).endpoint.headers


class TestWhatIsSent:
    async def test_options_hold_where_a_request_says_nothing(self, server: ChatServer) -> None:
        responder = Responder(base_url=server.url, api_key_env="MY_KEY")
        model = responder.create_model("gpt-4o", LlmOptions(temperature=0.2, max_tokens=99), KEYS)
        await model.generate(HI)
        await model.generate(ModelRequest(HI.messages, options=LlmOptions(temperature=0.7)))
        assert [(one["model"], one["temperature"], one["max_output_tokens"]) for one in server.bodies] == [
            ("gpt-4o", 0.2, 99),
            ("gpt-4o", 0.7, 99),
        ]
        assert {one.headers["authorization"] for one in server.received} == {f"Bearer {KEY}"}
        assert len({one.peer for one in server.received}) == 1

    async def test_a_server_of_ones_own_gets_no_key_that_was_not_named(self, server: ChatServer) -> None:
        await Responder(base_url=server.url).create_model("m", environment=KEYS).generate(HI)
        assert KEY not in str(server.received[0].headers)

    async def test_answers_come_in_pieces(self, server: ChatServer) -> None:
        model = Responder(base_url=server.url).create_model("m", LlmOptions(temperature=0.1), environment={})
        *pieces, last = [one async for one in model.stream(HI)]
        assert "".join(one.text for one in pieces if isinstance(one, TextDelta)) == "hello"
        assert isinstance(last, ModelResponse)
        assert (last.message.text, server.bodies[0]["temperature"]) == ("hello", 0.1)

    async def test_answers_go_back_to_openrouter_as_plain_text(self, server: ChatServer) -> None:
        environment = {**KEYS, "OPENROUTER_BASE_URL": server.url}
        model = Responder(provider="OPEN_ROUTER").create_model("m", environment=environment)
        said = AssistantMessage((Text("hello"),))
        await model.generate(ModelRequest((*HI.messages, said, *HI.messages)))
        assert isinstance(items := server.bodies[0]["input"], list)
        assert items[1] == {"type": "message", "role": "assistant", "content": "hello"}


class TestTrace:
    async def test_the_responders_is_below_that_of_options_and_requests(self, server: ChatServer) -> None:
        lowest = TraceMetadata(trace_id="responder", span_name="responder", environment="responder")
        environment = {**KEYS, "OPENROUTER_BASE_URL": server.url}
        options = LlmOptions(trace=TraceMetadata(trace_id="options", span_name="options"))
        model = Responder(provider="OPEN_ROUTER", trace=lowest).create_model("m", options, environment)
        await model.generate(ModelRequest(HI.messages, options=LlmOptions(trace=TraceMetadata(trace_id="request"))))
        assert server.bodies[0]["trace"] == {
            "trace_id": "request",
            "span_name": "options",
            "environment": "responder",
        }

    async def test_no_other_server_is_told(self, server: ChatServer) -> None:
        responder = Responder(base_url=server.url, trace=TraceMetadata(trace_id="t"))
        await responder.create_model("m", environment={}).generate(HI)
        assert "trace" not in server.bodies[0]


class TestRetries:
    SETTINGS = RetrySettings(max_retries=2, initial_delay_ms=400, max_delay_ms=500, retryable_status_codes=(409, 503))

    async def tried(self, *replies: Reply, settings: RetrySettings | None = SETTINGS) -> tuple[int, list[float]]:
        """How often the server was asked, and the pauses between."""
        clock = Hurried()
        async with ChatServer(*replies) as server:
            model = Responder(base_url=server.url, retry=settings).create_model("m", environment={}, clock=clock)
            with suppress(ModelError):
                await model.generate(HI)
        return len(server.received), clock.pauses

    @pytest.mark.parametrize("status", [409, 503])
    async def test_listed_statuses_are_tried_again_after_a_pause(self, status: int) -> None:
        times, pauses = await self.tried(fails(status))
        assert times == 3
        assert len(pauses) == 2
        assert 0 <= pauses[0] <= 0.4
        assert 0 <= pauses[1] <= 0.5

    async def test_an_answer_ends_them(self) -> None:
        assert (await self.tried(fails(503), HELLO))[0] == 2

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    async def test_other_statuses_are_not(self, status: int) -> None:
        assert await self.tried(fails(status)) == (1, [])

    async def test_a_broken_connection_always_is(self) -> None:
        assert (await self.tried(hangs_up()))[0] == 3

    async def test_without_settings_the_usual_rules_hold(self) -> None:
        assert (await self.tried(fails(500), settings=None))[0] == 3
        assert (await self.tried(fails(409), settings=None))[0] == 1

    async def test_none_is_none(self) -> None:
        assert await self.tried(fails(503), settings=RetrySettings(max_retries=0)) == (1, [])

    def test_a_call_may_take_as_long_as_its_retries(self) -> None:
        policy = RetrySettings(max_retries=9, max_delay_ms=60_000).create_policy()
        assert policy.deadline >= 10 * (120 + 60)
        assert (policy.truncated.attempts, RetrySettings(max_retries=0).create_policy().truncated.attempts) == (2, 1)


class TestProblems:
    @pytest.mark.parametrize(
        ("responder", "told"),
        [
            (Responder(), "neither is set"),
            (Responder(provider="OPENAI", base_url="https://x.example"), "both are set"),
            (Responder(provider="OPNAI"), "Did you mean 'OPENAI'?"),
            (Responder(provider="OPEN_RUTER"), "Did you mean 'OPEN_ROUTER'?"),
            (Responder(provider="OPENAI", api_format="openai-chat"), "api_format: goes with base_url"),
            (Responder(provider="MISTRAL"), "MISTRAL_API_KEY is not set"),
            (Responder(provider="OPENAI", api_key_env="OTHER_KEY"), "OTHER_KEY is not set"),
            (Responder(provider="OPENAI", api_key_env="BROKEN"), "BROKEN has characters"),
            (Responder(provider="OPENAI", api_key_env=KEY), "is not the name of an environment variable"),
            (Responder(provider="AZURE_OPENAI", api_key_env="MY_KEY"), "no address of its own"),
            (Responder(base_url=f"https://{AZURE}/openai"), "api_key_env: is missing"),
            (Responder(base_url="api.example.com/v1"), "base_url: is not a URL"),
            (Responder(base_url="http://[broken"), "base_url: is not a URL"),
            (Responder(base_url=f"https://me:{KEY}@x.example"), "a user or a password"),
            (Responder(base_url="http://x.example", api_format="smoke"), "no 'smoke'"),  # type: ignore[arg-type]
            (Responder(base_url="http://x.example", api_key_env="OTHER_KEY"), "OTHER_KEY is not set"),
            (Responder(provider="OPENAI", retry=RetrySettings(max_retries=-1)), "retry.max_retries"),
            (Responder(provider="OPENAI", retry=RetrySettings(multiplier=0.5)), "retry.multiplier"),
            (Responder(provider="OPENAI", retry=RetrySettings(initial_delay_ms=-1)), "retry.initial_delay_ms"),
            (Responder(provider="OPENAI", retry=RetrySettings(max_delay_ms=10)), "retry.max_delay_ms"),
            (
                Responder(provider="OPENAI", retry=RetrySettings(retryable_status_codes=(42,))),
                "retry.retryable_status_codes",
            ),
        ],
    )
    def test_each_says_what_to_do_and_shows_no_key(self, responder: Responder, told: str) -> None:
        environment = {**KEYS, "BROKEN": f"{KEY}\n{KEY}"}
        [problem] = map(str, responder.find_problems(environment))
        assert told in problem
        with pytest.raises(ConfigurationError) as raised:
            responder.create_model("m", environment=environment)
        assert problem in str(raised.value)
        assert KEY not in f"{problem} {raised.value} {responder!r}"

    def test_all_are_told_at_once(self) -> None:
        responder = Responder(provider="AZURE_GROK", retry=RetrySettings(max_retries=-1))
        with pytest.raises(ConfigurationError) as raised:
            responder.create_model("", environment={})
        for told in ("retry.max_retries", "no address", "API version", "api_key_env", "model: is missing"):
            assert told in str(raised.value)

    @pytest.mark.parametrize(
        ("responder", "enabled", "is_usable"),
        [
            (Responder(provider="OPENAI"), "openai", True),
            (Responder(provider="OPENAI"), "anthropic", False),
            (Responder(base_url="https://x.example"), "openai", False),
            (Responder(base_url="https://x.example"), "custom", True),
            (Responder(base_url=f"https://{AZURE}", api_key_env="MY_KEY"), "azure-openai", True),
            (Responder(base_url=f"https://{AZURE}", api_key_env="MY_KEY"), "openai", False),
        ],
    )
    def test_only_enabled_providers_are_reached(self, responder: Responder, enabled: str, is_usable: bool) -> None:
        problems = responder.find_problems({**KEYS, "ENABLED_PROVIDERS": enabled})
        assert (not problems) == is_usable
        assert is_usable or "ENABLED_PROVIDERS" in problems[0].message

    def test_there_are_none_where_all_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert Responder(provider="OPENAI").find_problems() == []


class TestSecrets:
    async def test_errors_do_not_show_the_key(self) -> None:
        async with ChatServer(fails(500, f"{KEY} is wrong")) as server:
            retry = RetrySettings(max_retries=0)
            model = Responder(base_url=server.url, api_key_env="MY_KEY", retry=retry).create_model(
                "m", environment=KEYS
            )
            with pytest.raises(ModelServerError) as raised:
                await model.generate(HI)
        assert KEY not in str(raised.value)
        assert "***" in str(raised.value)

    @pytest.mark.parametrize("base_url", ["https://x.example/v1", f"https://x.example/v1?api_key={KEY}"])
    def test_neither_do_reprs(self, base_url: str) -> None:
        responder = Responder(base_url=base_url, api_key_env="MY_KEY")
        model = responder.create_model("m", environment=KEYS)
        assert (repr(responder), repr(model)) == ("Responder('x.example')", "RespondedModel('x.example:m')")
        assert KEY not in f"{model.endpoint!r} {vars(model)!r}"
        assert repr(Responder(base_url="http://[broken")) == "Responder('')"


class TestModels:
    def test_they_say_what_they_were_made_of(self) -> None:
        responder, options = Responder(provider="OPENAI"), LlmOptions(temperature=0.5)
        model, other = (responder.create_model("gpt-5.4", options, KEYS) for _ in range(2))
        assert (model.responder, model.model, model.options) == (responder, "gpt-5.4", options)
        assert model.name == "openai:gpt-5.4"
        assert model.features.json_schema
        assert model != other
        assert len({model, other}) == 2

    def test_a_thousand_are_made_in_no_time(self) -> None:
        environment: Mapping[str, str] = KEYS
        began = process_time()
        for _ in range(1000):
            Responder(base_url="https://x.example", retry=RetrySettings()).create_model("m", environment=environment)
        assert process_time() - began < 1
