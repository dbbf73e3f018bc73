"""Usage in the errors of runs that fail because of a run inside them, and in views of their events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tactician import Agent, Ensemble, ParallelAgents, Platform, RouterAgent, Task, runnable
from tactician.agents import BaseRunnable
from tactician.events import Event
from tactician.guardrails import blocked_words
from tactician.platform import replay_events
from tactician.runs import RunError
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore


def create_refused() -> Agent:
    return Agent("Target", model=ScriptedModel("the secret"), output_guardrails=[blocked_words(["secret"])])


def route() -> BaseRunnable[object]:
    return RouterAgent("Desk", model=ScriptedModel({"value": 1}), routes={"all": create_refused()})


def group() -> BaseRunnable[object]:
    return ParallelAgents("Panel", [Agent("A", model=ScriptedModel("first")), create_refused()])


def call() -> BaseRunnable[object]:
    @runnable
    async def work(text: str) -> str:
        await Agent("A", model=ScriptedModel("first")).run(text)
        return (await create_refused().run(text)).output

    return work


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("build", [route, group, call])
async def test_the_error_of_a_run_has_the_usage_of_the_whole_run(
    build: Callable[[], BaseRunnable[object]], is_stored: bool
) -> None:
    store = JsonStore() if is_stored else MemoryStore()
    async with Platform(store=store) as platform:
        with pytest.raises(RunError) as raised:
            await build().run("hi", context=platform.context())
    assert raised.value.result.usage.requests == 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: RouterAgent(
            "Desk", model=ScriptedModel({"value": 1}), routes={"all": Agent("T", model=ScriptedModel("x"))}
        ),
        lambda: Ensemble("E", [Task("a", model=ScriptedModel("x")), Task("b", model=ScriptedModel("y"))]),
    ],
)
async def test_views_of_events_count_all_runs_inside(build: Callable[[], BaseRunnable[object]]) -> None:
    heard: list[Event] = []
    result = await build().run("hi", context=Platform(ScriptedModel(), on_event=heard.append).context())
    (tree,) = replay_events(heard)
    assert tree.run.usage.requests == result.usage.requests == 2
