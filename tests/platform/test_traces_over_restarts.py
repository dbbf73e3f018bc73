"""Traces of runs that waited or were interrupted: each run and task once, and what it used once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from tactician import (
    Agent,
    Ensemble,
    Loop,
    ParallelAgents,
    Phase,
    PlannedAgent,
    Platform,
    Review,
    ReviewDecision,
    RouterAgent,
    RunStatus,
    Task,
    UserInput,
    achieves_goal,
    action,
    approve,
    planned_agent,
)
from tactician.agents import BaseRunnable
from tactician.errors import StoreError
from tactician.platform import Worker
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredStep
from tactician.testing import ScriptedModel


def says(name: str) -> Agent:
    return Agent(name, model=ScriptedModel(f"{name} speaks"))


def create_pair(name: str = "Pair", *, asks: bool = True) -> Ensemble:
    """Return an ensemble whose second task is reviewed by a person."""
    review = Review.after("Good?") if asks else None
    return Ensemble(name, [Task("One", agent=says("First")), Task("Two", agent=says("Second"), review=review)])


@planned_agent(name="Office", description="Lets a pair work")
class Office:
    def __init__(self, *, asks: bool = True) -> None:
        self.pair = create_pair(asks=asks)

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> str:
        return str((await self.pair.run(topic.content)).output)


KINDS: Final[dict[str, tuple[Callable[[], BaseRunnable[object]], int]]] = {
    "alone": (create_pair, 2),
    "router": (lambda: RouterAgent("Router", model=ScriptedModel("1"), routes={"all": create_pair()}), 3),
    "group": (lambda: ParallelAgents("Group", [create_pair("Left"), create_pair("Right")]), 4),
    "twins": (lambda: ParallelAgents("Group", [create_pair(), create_pair()]), 4),
    "nested": (lambda: Ensemble("Outer", [create_pair()]), 2),
    "agent of a task": (
        lambda: Ensemble("Outer", [Task("Do", agent=create_pair()), Task("End", agent=says("Last"))]),
        3,
    ),
    "loop": (lambda: Ensemble("Outer", [Loop([create_pair()], max_iterations=1)]), 2),
    "phase": (lambda: Ensemble("Outer", phases=[Phase("Only", [create_pair()])]), 2),
    "process": (lambda: PlannedAgent(Office()), 2),
    "process in a group": (lambda: ParallelAgents("Group", [PlannedAgent(Office()), says("Other")]), 3),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_was_answered_is_in_its_trace_once(kind: str) -> None:
    create, requests = KINDS[kind]
    runnable = create()
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(runnable)
    waiting = await runnable.run("go", context=platform.context())
    (view,) = await platform.runs()
    for request in waiting.pending:
        await platform.respond(view.id, request.id, approve())

    trace = await platform.trace(view.id)

    (view,) = await platform.runs()
    assert view.status == RunStatus.COMPLETED
    assert view.usage.requests == trace.total_use.requests == requests
    assert {node.status for node in trace.walk()} <= {"completed"}
    names = Counter((node.kind, node.name, node.run_id, node.task_id) for node in trace.walk() if node.kind != "model")
    assert set(names.values()) == {1}
    tasks = [node for node in trace.walk() if node.kind == "task" and node.name in ("One", "Two")]
    assert len(tasks) == (4 if kind in ("group", "twins") else 2)


class DyingStore(MemoryStore):
    """Store whose program dies before it saves a step for the second task."""

    is_dying = True

    async def append(self, lease: Lease, step: StoredStep) -> None:
        if self.is_dying and '"Two"' in step.text and "task" in step.text and "Second speaks" in step.text:
            raise StoreError("the program dies")
        await super().append(lease, step)


async def test_a_run_that_was_interrupted_is_in_its_trace_once() -> None:
    store = DyingStore()
    router = RouterAgent("Router", model=ScriptedModel("1"), routes={"all": create_pair(asks=False)})
    platform = Platform(ScriptedModel(), store=store).register(router)
    with pytest.raises(StoreError):
        await router.run("go", context=platform.context())
    store.is_dying = False
    (view,) = await platform.runs()
    assert view.status == RunStatus.RUNNING
    again = RouterAgent("Router", model=ScriptedModel("1"), routes={"all": create_pair(asks=False)})
    await Worker(Platform(ScriptedModel(), store=store).register(again)).run_once()

    trace = await platform.trace(view.id)

    pairs = [node for node in trace.walk() if node.kind == "run" and node.name == "Pair"]
    assert [node.status for node in pairs] == ["completed"]
    assert len([node for node in trace.walk() if node.kind == "task"]) == 2


async def test_attempts_at_a_task_stay_runs_of_their_own() -> None:
    agent = Agent("Writer", model=ScriptedModel("one", "two"))
    ensemble = Ensemble("Desk", [Task("Write", agent=agent, review=Review.after("Good?"))])
    router = RouterAgent("Router", model=ScriptedModel("1"), routes={"all": ensemble})
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(router)
    waiting = await router.run("go", context=platform.context())
    (request,) = waiting.pending
    result = await platform.respond(waiting.run_id, request.id, ReviewDecision.retry("shorter"))
    (request,) = result.pending
    await platform.respond(waiting.run_id, request.id, approve())

    trace = await platform.trace(waiting.run_id)

    writers = [node for node in trace.walk() if node.kind == "run" and node.name == "Writer"]
    assert trace.total_use.requests == 3
    assert sum(use.requests for node in writers for inner in node.walk() for use in inner.used) == 2
