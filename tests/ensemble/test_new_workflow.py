"""A workflow of a program: one class, which ensembles, phases, stores, blueprints and drawings follow."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest
from typing_extensions import override

from tactician import Agent, Blueprint, Ensemble, Phase, Platform, RunStatus, SqliteStore, Task, Workflow
from tactician.blueprint import json_schema
from tactician.clock import Clock
from tactician.ensemble import EnsembleDefinitionError, TaskInput, TaskStarted
from tactician.errors import DeclarationError
from tactician.flow.steps import ErrorPolicy
from tactician.flow.turns import Dependent, run_in_turn
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Approval, Suspended

StepT = TypeVar("StepT", bound=Dependent)


def declare() -> type[Workflow]:
    class Backwards(Workflow):
        """Tasks from the last in the list to the first, each with the output of the one behind it."""

        word = "backwards"

        @override
        def find_context(self, tasks: Sequence[Task], number: int) -> tuple[Task, ...]:
            return tuple(tasks[number + 1 : number + 2])

        @override
        def find_first_tasks(self, tasks: Sequence[Task]) -> list[Task]:
            return [*tasks[-1:]]

        @override
        def find_last_tasks(self, tasks: Sequence[Task]) -> tuple[Task, ...]:
            return tuple(tasks[:1])

        @override
        def find_context_mistake(self, number: int, read: int) -> str | None:
            return "which runs later: move it behind" if read < number else None

        @override
        def find_arrows(self, tasks: Sequence[Task], contexts: Sequence[Sequence[Task]]) -> Iterator[tuple[str, str]]:
            return ((later.id, task.id) for task, later in pairwise(tasks))

        @override
        async def run(
            self,
            steps: Sequence[StepT],
            work: Callable[[StepT], Awaitable[object]],
            record: Callable[..., object],
            *,
            max_parallel: int | None,
            on_error: ErrorPolicy,
            clock: Clock,
        ) -> None:
            await run_in_turn([*reversed(steps)], work, record, on_error=on_error)

    return Backwards


@pytest.fixture
def backwards() -> Iterator[Workflow]:
    workflow = declare()()
    yield workflow
    del workflow
    gc.collect()


def say(task: TaskInput) -> str:
    return f"{task.description} after {', '.join(output.raw for output in task.context_outputs) or 'nothing'}"


def create(workflow: Workflow) -> Ensemble:
    return Ensemble("Crew", [Task("a", handler=say), Task("b", handler=say), Task("c", handler=say)], workflow=workflow)


async def test_its_tasks_run_in_its_order(backwards: Workflow) -> None:
    result = await create(backwards).run()
    assert [output.task_id for output in result.task_outputs] == ["c", "b", "a"]
    assert result.output == "a after b after c after nothing"


async def test_its_tasks_are_streamed_in_its_order(backwards: Workflow) -> None:
    events = [event async for event in create(backwards).stream({}) if isinstance(event, TaskStarted)]
    assert [event.task_id for event in events] == ["c", "b", "a"]


async def test_phases_take_it(backwards: Workflow) -> None:
    phase = Phase("all", [Task("a", handler=say), Task("b", handler=say)], workflow=backwards)
    assert (await Ensemble("Crew", phases=[phase]).run()).output == "a after b after nothing"


async def test_a_run_continues_after_a_restart(backwards: Workflow, tmp_path: Path) -> None:
    def ask(task: TaskInput) -> str:
        raise Suspended(PendingRequest("go", "approval", "Go on?"))

    def make(handler: Callable[[TaskInput], str]) -> Ensemble:
        return Ensemble("Crew", [Task("a", handler=handler), Task("b", handler=say)], workflow=backwards)

    file = tmp_path / "runs.db"
    async with SqliteStore(file) as store, Platform(store=store) as platform:
        waiting = await make(ask).run(context=platform.context())
        assert waiting.status is RunStatus.WAITING
    async with SqliteStore(file) as store, Platform(store=store) as platform:
        done = await make(say).resume(waiting.run_id, {"go": Approval(granted=True)}, context=platform.context())
    assert done.output == "a after b after nothing"


def test_a_drawing_shows_its_order(backwards: Workflow) -> None:
    assert [(edge.source, edge.target) for edge in create(backwards).diagram().edges] == [
        ("task_1", "task_0"),
        ("task_2", "task_1"),
    ]


async def test_its_mistakes_are_found(backwards: Workflow) -> None:
    first = Task("first", handler=say)
    crew = Ensemble("Crew", [first, Task("second", handler=say, context=[first])], workflow=backwards)
    with pytest.raises(EnsembleDefinitionError, match="which runs later: move it behind"):
        await crew.check()


async def test_blueprints_have_it(backwards: Workflow) -> None:
    writer = Agent("Writer", model="gpt-5.4")
    crew = Ensemble("Crew", [Task("a", agent=writer), Task("b", agent=writer)], workflow=backwards)
    text = crew.to_blueprint().to_json()
    assert '"workflow":"backwards"' in text.replace(" ", "")
    built = Blueprint.from_json(text).build()
    assert isinstance(built, Ensemble)
    assert built.workflow == backwards
    assert "backwards" in str(json_schema())


def test_a_workflow_is_found_by_its_name_while_its_class_is_there(backwards: Workflow) -> None:
    assert Workflow("backwards") == backwards
    assert Workflow("parallel") == Workflow.PARALLEL
    with pytest.raises(ValueError, match="'sideways' is not a workflow: write one of 'sequential', 'parallel'"):
        Workflow("sideways")


def test_two_workflows_have_two_names() -> None:
    with pytest.raises(DeclarationError, match="must be the name of no other workflow"):

        class Other(Workflow):
            word = "parallel"
