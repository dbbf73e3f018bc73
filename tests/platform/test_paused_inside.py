"""Processes inside other runs that are paused: the outermost run is paused too, and nobody continues it by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import Agent, PlannedAgent, Platform, Runnable, UserInput, achieves_goal, action, planned_agent
from tactician.agents.flows import scatter_gather
from tactician.platform import Worker
from tactician.process import AgentProcess
from tactician.runs import RunResult, RunStatus
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, load_record


@dataclass
class Found:
    text: str


@planned_agent(description="looks something up, and takes a break")
class Researcher:
    def __init__(self) -> None:
        self.done: list[str] = []

    @action
    def look(self, topic: UserInput, process: AgentProcess) -> Found:
        self.done.append("look")
        process.pause()
        return Found(topic.content)

    @achieves_goal("told")
    @action
    def tell(self, found: Found) -> str:
        self.done.append("tell")
        return f"about {found.text}"


def host(inner: Researcher) -> Runnable:
    script = ToolCall("research", request="frogs"), "Frogs, then."
    return Agent("Host", model=ScriptedModel(*script), tools=[PlannedAgent(inner).as_tool("research")])


def flow(inner: Researcher) -> Runnable:
    return scatter_gather(str, [PlannedAgent(inner)], lambda told: f"Frogs, then: {told[0]}", name="Flow")


def itself(inner: Researcher) -> Runnable:
    return PlannedAgent(inner)


AROUND = pytest.mark.parametrize("around", [host, flow, itself])


@AROUND
async def test_the_run_around_is_paused_until_somebody_resumes_it(around: Callable[[Researcher], Runnable]) -> None:
    store, inner = JsonStore(), Researcher()
    platform = Platform(ScriptedModel(), store=store).register(runnable := around(inner))

    result = await runnable.run("frogs", context=platform.context())

    assert (result.status, result.pending, result.output) == (RunStatus.PAUSED, (), None)
    record = await load_record(store, result.run_id)
    assert (record.status, record.wakes_at) == (RunStatus.PAUSED, None)
    assert [(run.id, run.status) for run in await platform.runs(status="paused")] == [(result.run_id, "paused")]
    assert await platform.list_waiting_runs() == []
    assert (await platform.steps(result.run_id))[-1].kind == "paused"
    assert not await Worker(platform).run_once(), "no worker claims it"

    await platform.resume(result.run_id)

    assert inner.done == ["look", "tell"]
    assert (await load_record(store, result.run_id)).status is RunStatus.COMPLETED


@AROUND
async def test_without_a_store_of_its_own_it_is_resumed_too(around: Callable[[Researcher], Runnable]) -> None:
    inner = Researcher()
    platform = Platform(ScriptedModel()).register(runnable := around(inner))
    result = await runnable.run("frogs", context=platform.context())
    assert result.status is RunStatus.PAUSED

    await platform.resume(result.run_id)

    assert inner.done == ["look", "tell"]


async def test_a_run_that_is_paused_is_resumed_by_what_runs() -> None:
    inner = Researcher()
    agent, context = host(inner), Platform(ScriptedModel(), store=MemoryStore()).context()
    assert isinstance(agent, Agent)
    paused = await agent.run("frogs", context=context)

    resumed = await agent.resume(paused.run_id, {}, context=context)

    assert isinstance(resumed, RunResult)
    assert (resumed.status, resumed.output) == (RunStatus.COMPLETED, "Frogs, then.")
