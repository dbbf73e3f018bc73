"""What `tactician run` shows of waiting, retries, fallbacks and circuit breakers."""

import asyncio
import json
from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from tactician import Agent, RunContext
from tactician.cli.progress import ProgressView
from tactician.config import ModelSettings, Settings
from tactician.events import Event
from tactician.llm import (
    AssistantMessage,
    CircuitClosed,
    CircuitOpened,
    Deployment,
    ModelCatalog,
    ModelFellBack,
    ModelRouter,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
    Text,
)
from tactician.process import MessageSent
from tests.llm.routing.support import FakeClock, FakeModel, answer
from tests.support.chat_server import ChatServer, answers, completion, fails


def view() -> ProgressView:
    return ProgressView(Console(file=StringIO(), width=200))


def lines(view: ProgressView) -> Sequence[str]:
    assert isinstance(view.console.file, StringIO)
    return [line.strip() for line in view.console.file.getvalue().splitlines()]


def instances(*servers: ChatServer) -> str:
    return json.dumps(
        [
            {"id": f"openai-{number}", "url": server.url, "key": "sk", "models": "gpt-5.4", "provider": "openai"}
            for number, server in enumerate(servers, 1)
        ]
    )


OK = answers(completion("Hello."))
BUSY = fails(429, "slow down")
BUSY_FOR_A_MOMENT = fails(429, "slow down", {"Retry-After": "0.2"})


async def run(source: ModelCatalog, model: str = "gpt-5.4") -> Sequence[str]:
    seen = view()
    result = await Agent("Greeter", model=model).run("hi", context=RunContext.over(source, seen))
    assert result.output == "Hello."
    return lines(seen)


def test_what_an_action_sends_is_shown() -> None:
    seen = view()
    seen(MessageSent(run_id="r", message=AssistantMessage((Text("I know [x]."),))))
    assert lines(seen) == ["I know [x]."]


async def test_a_call_that_goes_through_is_not_worth_a_line() -> None:
    async with ChatServer(OK) as server:
        assert await run(ModelCatalog(Settings(), {"LLM_INSTANCES": instances(server)})) == []


async def test_a_retry_at_another_instance_is_one_line() -> None:
    async with ChatServer(BUSY) as busy, ChatServer(OK) as free:
        told = await run(ModelCatalog(Settings(), {"LLM_INSTANCES": instances(busy, free)}))
    assert told == ["openai-1 failed (rate_limit), trying openai-2"]


async def test_a_retry_after_a_pause_is_one_line_too() -> None:
    async with ChatServer(BUSY_FOR_A_MOMENT, OK) as server:
        told = await run(ModelCatalog(Settings(), {"LLM_INSTANCES": instances(server)}))
    assert told == ["openai-1 failed (rate_limit), trying again after 0.2 s"]


async def test_a_fallback_is_one_line() -> None:
    async with ChatServer(fails(404, "no such model")) as server, ChatServer(OK) as other:
        settings = Settings(models=ModelSettings(fallbacks={"gpt-5.4": ("mistral:m",)}))
        environment = {
            "LLM_INSTANCES": instances(server),
            "MISTRAL_API_KEY": "sk",
            "MISTRAL_BASE_URL": other.url,
        }
        told = await run(ModelCatalog(settings, environment))
    assert told == ["gpt-5.4 failed (refused), falling back to mistral:m"]


def test_waiting_for_limits_is_one_line_unless_nobody_would_notice() -> None:
    clock, seen = FakeClock(), view()

    async def main(rate: float) -> None:
        models = [Deployment("openai", "openai:gpt-5.4", FakeModel(clock, *[answer("Hello.")] * 2), rate)]
        router = ModelRouter(models, clock=clock)
        agent, context = Agent("Greeter"), RunContext.over(router, seen)
        await asyncio.gather(agent.run("hi", context=context), agent.run("hi", context=context))

    clock.run(main(0.5))
    assert lines(seen) == ["waited 2.0 s for openai:gpt-5.4 (limits)"]
    clock.run(main(50.0))
    assert len(lines(seen)) == 1


WORDS: dict[str, Event] = {
    "waited 30.0 s for a:m (cooldown)": RequestDelayed(
        run_id="r", model="m", instance="a", seconds=30.0, reason="cooldown"
    ),
    "a failed (timeout), trying again": RequestRetried(
        run_id="r", model="m", instance="a", attempt=1, error="timeout", delay=0.0, next_instance="a"
    ),
    "a failed (server), trying b after 1.5 s": RequestRetried(
        run_id="r", model="m", instance="a", attempt=1, error="server", delay=1.5, next_instance="b"
    ),
    "circuit of a:m open for 5.0 s (server)": CircuitOpened(
        run_id="r", model="m", instance="a", seconds=5.0, error="server"
    ),
    "circuit of a:m closed again": CircuitClosed(run_id="r", model="m", instance="a"),
    "m is unavailable, falling back to n": ModelFellBack(run_id="r", model="m", fallback="n", reason="cooldown"),
    "": RequestRouted(run_id="r", model="m", instance="a", reason="round_robin"),
}


@pytest.mark.parametrize("expected", WORDS)
def test_each_event_has_its_words(expected: str) -> None:
    seen = view()
    seen(WORDS[expected])
    assert "\n".join(lines(seen)) == expected
