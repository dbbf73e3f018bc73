"""A budget that is used up inside a run ends the run as TERMINATED, however deep it is, and its record agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tactician import (
    Agent,
    Budget,
    Ensemble,
    Graph,
    Loop,
    MapReduce,
    ParallelAgents,
    Phase,
    PlannedAgent,
    Platform,
    ProcessOptions,
    Review,
    RouterAgent,
    Runnable,
    RunStatus,
    SupervisorAgent,
    Task,
    UserInput,
    Workflow,
    achieves_goal,
    action,
    approve,
    planned_agent,
)
from tactician.agents import BaseRunnable
from tactician.ensemble import END, Edge, TaskFailedError
from tactician.errors import TacticianError
from tactician.process import ProcessFailedError
from tactician.runs.outcomes.errors import get_end_status
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall

Create = Callable[[], BaseRunnable[object]]


def create_pair() -> Ensemble:
    return Ensemble("Pair", [Task("First"), Task("Second")], model=ScriptedModel("one", "two"))


def create_breaking() -> Ensemble:
    """Return an ensemble whose first failure is none of a budget."""

    def fail(_: object) -> str:
        raise LookupError("it is gone")

    tasks = [Task("Breaks", handler=fail), Task("Works", agent=create_pair())]
    return Ensemble("Outer", tasks, workflow=Workflow.PARALLEL, on_error="continue")


KINDS: Final[dict[str, Create]] = {
    "ensemble": create_pair,
    "nested": lambda: Ensemble("Outer", [create_pair()]),
    "agent of a task": lambda: Ensemble("Outer", [Task("Work", agent=create_pair())]),
    "parallel": lambda: Ensemble("Outer", [create_pair()], workflow=Workflow.PARALLEL),
    "continues": create_breaking,
    "phase": lambda: Ensemble("Outer", phases=[Phase("Only", [create_pair()])]),
    "loop": lambda: Loop([create_pair()], max_iterations=2),
    "graph": lambda: Graph({"pair": create_pair()}, start="pair", edges=[Edge("pair", END)]),
    "map-reduce": lambda: MapReduce(
        ["a", "b"],
        map=lambda item: Task(f"Map {item}", agent=Agent("Mapper", model=ScriptedModel("x"))),
        reduce=lambda _: Task("Reduce", agent=Agent("Reducer", model=ScriptedModel("x"))),
    ),
    "first of": lambda: ParallelAgents("Panel", [create_pair()]).as_first_of(),
    "group": lambda: ParallelAgents("Panel", [create_pair()]),
    "router": lambda: RouterAgent("Router", model=ScriptedModel("1"), routes={"all": create_pair()}),
    "supervisor": lambda: SupervisorAgent(
        "Boss", model=ScriptedModel(ToolCall("invoke_pair", request="go"), "done"), workers={"pair": create_pair()}
    ),
}


TURNS: Final = {"router": 2, "supervisor": 2}
"""The calls of a model after which the budget is used up, where that is not the first task."""


@planned_agent(name="Office", description="Runs what it was made with")
class Office:
    def __init__(self, inner: Runnable) -> None:
        self.inner = inner

    @achieves_goal("done")
    @action
    async def go(self, request: UserInput) -> str:
        return str((await self.inner.run("go")).output)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_process_is_terminated(kind: str) -> None:
    office = Office(KINDS[kind]())
    options = ProcessOptions(budget=Budget(turns=TURNS.get(kind, 1)))

    process = await Platform(ScriptedModel()).register(office).start("Office", "go", options=options)

    assert process.status is RunStatus.TERMINATED, process.failure


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_of_its_own_is_terminated_in_its_record_too(kind: str) -> None:
    runnable = KINDS[kind]()
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(runnable)

    with pytest.raises(TacticianError) as raised:
        await runnable.run("go", context=platform.context(), budget=Budget(turns=TURNS.get(kind, 1)))

    (view,) = await platform.runs()
    assert (get_end_status(raised.value), view.status) == (RunStatus.TERMINATED, RunStatus.TERMINATED)


async def test_a_process_that_runs_as_an_agent_is_terminated_in_its_record_too() -> None:
    office = PlannedAgent(Office(create_pair()))
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(office)

    with pytest.raises(ProcessFailedError) as raised:
        await office.run("go", context=platform.context(), options=ProcessOptions(budget=Budget(turns=1)))

    (view,) = await platform.runs()
    process = await platform.process(view.id)
    assert [raised.value.process.status, view.status, process.status] == [RunStatus.TERMINATED] * 3


async def test_a_limit_counts_after_an_answer_to_a_task_beside_it() -> None:
    asks = Task("Asks", agent=Agent("Asker", model=ScriptedModel("ok")), review=Review.before("Go?"))
    pair = Ensemble("Pair", [Task("First"), Task("Second")], model=ScriptedModel("one"), budget=Budget(turns=1))
    outer = Ensemble("Outer", [Task("Works", agent=pair), asks], workflow=Workflow.PARALLEL, on_error="continue")
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(outer)
    waiting = await outer.run("go", context=platform.context())

    with pytest.raises(TaskFailedError) as raised:
        await platform.respond(waiting.run_id, waiting.pending[0].id, approve())

    assert raised.value.status is RunStatus.TERMINATED
