"""What a request belongs to: how it is put together, and who is told."""

from __future__ import annotations

import pytest

from tactician.llm import LlmOptions, ModelRequest, TraceMetadata, UserMessage
from tactician.llm.model_profiles import ModelProfile, ModelProfiles
from tactician.llm.options import NO_OPTIONS
from tactician.llm.providers import PROVIDERS
from tests.support.chat_server import ChatServer
from tests.support.strict_servers import SITES
from tests.support.voices import Saying, says

OUTER = TraceMetadata(trace_id="t1", span_name="outer", environment="test", metadata={"team": "a", "tier": 1})
INNER = TraceMetadata(span_name="inner", generation_name="answer", metadata={"tier": 2})
BOTH = TraceMetadata(
    trace_id="t1",
    span_name="inner",
    generation_name="answer",
    environment="test",
    metadata={"team": "a", "tier": 2},
)


def request(trace: TraceMetadata | None) -> ModelRequest:
    return ModelRequest((UserMessage("hi"),), options=LlmOptions(trace=trace))


class TestMerging:
    def test_what_is_not_said_comes_from_the_base_field_by_field(self) -> None:
        assert INNER.with_defaults(OUTER) == BOTH

    def test_options_merge_their_traces(self) -> None:
        merged = LlmOptions(temperature=0.5, trace=INNER).with_defaults(LlmOptions(top_p=0.1, trace=OUTER))
        assert merged == LlmOptions(temperature=0.5, top_p=0.1, trace=BOTH)

    @pytest.mark.parametrize("own", [None, OUTER])
    @pytest.mark.parametrize("base", [None, OUTER])
    def test_options_take_the_one_trace_that_there_is(
        self, own: TraceMetadata | None, base: TraceMetadata | None
    ) -> None:
        merged = LlmOptions(top_k=1, trace=own).with_defaults(LlmOptions(top_p=1, trace=base))
        assert merged.trace == own or merged.trace == base
        assert (merged.trace is None) == (own is None and base is None)

    def test_surroundings_say_what_options_do_not(self) -> None:
        assert LlmOptions(trace=INNER).with_trace(OUTER).trace == BOTH
        assert LlmOptions(model="m").with_trace(OUTER) == LlmOptions(model="m", trace=OUTER)
        assert NO_OPTIONS.with_trace(None) is NO_OPTIONS

    def test_options_with_a_trace_can_be_keys(self) -> None:
        assert {LlmOptions(trace=OUTER): 1}[LlmOptions(trace=OUTER)] == 1


class TestSending:
    def test_only_what_is_said_is_sent_with_the_metadata_beside_it(self) -> None:
        assert INNER.to_json() == {"span_name": "inner", "generation_name": "answer", "tier": 2}
        assert TraceMetadata(trace_id="mine", metadata={"trace_id": "other"}).to_json() == {"trace_id": "mine"}

    async def test_openrouter_is_told(self, server: ChatServer) -> None:
        await server.model(PROVIDERS["openrouter"]).generate(request(INNER))
        await server.model(PROVIDERS["openrouter"]).generate(request(None))
        assert [body.get("trace") for body in server.bodies] == [INNER.to_json(), None]

    @pytest.mark.parametrize("site", ["openai", "openai-elsewhere", "anthropic", "gemini", "ollama"])
    async def test_nobody_else_is(self, site: str) -> None:
        where = SITES[site]
        async with ChatServer(says(where.voice, Saying("hello"))) as server:
            await server.model(where.provider).generate(request(OUTER))
        assert "trace" not in server.bodies[0]
        assert "outer" not in str(server.bodies[0])

    @pytest.mark.parametrize("site", ["openai", "openai-elsewhere", "anthropic"])
    def test_a_fact_lets_any_server_be_told(self, site: str) -> None:
        profiles = ModelProfiles([ModelProfile("*", {"traces": True})])
        endpoint = SITES[site].provider.create_endpoint("key", "http://x", model="m", profiles=profiles)
        assert endpoint.wire.encode(request(INNER), "m", endpoint.dialect)["trace"] == INNER.to_json()
