"""A constellation that is cancelled leaves nothing behind, wherever it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy

import pytest

from tactician import (
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    Runnable,
    SupervisorAgent,
    runnable,
)
from tactician.testing import ScriptedModel, ToolCall
from tests.agents.constellations.support import says, surroundings


def rename(one: Runnable) -> Runnable:
    """Return the same Runnable under another name."""
    other = copy(one)
    vars(other)["name"] = "twin"
    return other


INVOKE = ToolCall("invoke_sleep", request="sleep")
PLACES: dict[str, Callable[[Runnable], Runnable]] = {
    "route": lambda one: RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": one}),
    "worker": lambda one: SupervisorAgent("Team", model=ScriptedModel([INVOKE, INVOKE]), workers={"all": one}),
    "member": lambda one: ParallelAgents("Panel", [one, says("B", "b"), one]),
    "racer": lambda one: ParallelAgents("Panel", [one, one]).as_first_of(),
    "synthesized": lambda one: ParallelAgents("Panel", [one, one]).as_synthesis(says("Editor")),
    "synthesizer": lambda one: ParallelAgents("Panel", [says("B", "b")]).as_synthesis(one),
    "peer": lambda one: AgentNetwork("Debate", [says("B", "b"), one]),
    "concurrent peer": lambda one: AgentNetwork("Debate", [one, rename(one)], concurrent=True),
    "everyone": lambda one: AgentNetwork("Debate", [one, rename(one)]).as_broadcast(),
    "department": lambda one: HierarchicalAgents(
        executive=says("CEO", ToolCall("invoke_vp_supervisor", request="sleep")),
        departments={"Dev": Department(says("VP", INVOKE), [one])},
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_no_task_is_left(place: Callable[[Runnable], Runnable]) -> None:
    sleeping, woken = asyncio.Event(), []

    async def sleep(text: object) -> str:
        sleeping.set()
        try:
            await asyncio.Event().wait()
        finally:
            woken.append(text)
        return "never"

    run = asyncio.create_task(_run(place(runnable(sleep))))
    await sleeping.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert woken
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _run(constellation: Runnable) -> None:
    await constellation.run("go", context=surroundings())
