"""Ensembles that wait, are killed, and continue elsewhere: no completed task runs again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ensemble,
    Platform,
    Runnable,
    RunStatus,
    Task,
    UserInput,
    Workflow,
    achieves_goal,
    action,
    approve,
    planned_agent,
    runnable,
    tool,
)
from tactician.ensemble import EnsembleResult, TaskCompleted, TaskFailedError, TaskInput, TaskStarted
from tactician.errors import StoredStateError
from tactician.events import Event
from tactician.platform import Worker
from tactician.runs.progress.store import RunStore
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import durable, over
from tests.support.stored import JsonStore


class Facts(BaseModel):
    count: int


class Opaque:
    """Object without a JSON form."""


def payer(*answers: str) -> Agent:
    """An agent that pays, which needs an approval."""

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    return Agent(role="Payer", model=ScriptedModel(ToolCall("pay", amount=7), *answers), tools=[pay])


@dataclass
class Poem:
    text: str


WRITTEN: list[str] = []


@planned_agent(description="Writes poems")
class Poet:
    @achieves_goal("There is a poem")
    @action
    def write(self, topic: UserInput) -> Poem:
        WRITTEN.append(f"O {topic.content.splitlines()[-1]}!")
        return Poem(WRITTEN[-1])


def write_poem() -> Runnable:
    """A function that writes a poem."""

    @runnable
    async def write(text: str) -> Poem:
        return Poet().write(UserInput(text))

    return write


class Counter:
    """Handler that counts its runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs = 0

    def __call__(self, task: TaskInput) -> str:
        self.runs += 1
        return self.name


class TestPeople:
    async def test_a_task_that_waits_lets_independent_tasks_finish_and_the_run_waits(self) -> None:
        counter = Counter("done")
        pay = Task("Pay", agent=payer("Paid."))
        tasks = [
            pay,
            Task("Other", handler=counter),
            Task("Report", context=[pay], handler=lambda t: t.context_outputs[0].raw),
        ]
        context = over()
        ensemble = Ensemble("E", tasks)
        waiting = await ensemble.run({}, context=context)
        assert isinstance(waiting, EnsembleResult)
        assert waiting.status is RunStatus.WAITING
        (request,) = waiting.pending
        result = await ensemble.resume(waiting.run_id, {request.id: approve()}, context=context)
        assert (result.raw, result.status, counter.runs) == ("Paid.", RunStatus.COMPLETED, 1)
        assert result["Pay"].tool_calls == 1

    async def test_in_a_sequence_a_task_that_waits_holds_up_those_behind_it(self) -> None:
        counter, context = Counter("done"), over()
        ensemble = Ensemble("E", [Task("Pay", agent=payer("Paid.")), Task("Other", context=[], handler=counter)])
        waiting = await ensemble.run(context=context)
        assert counter.runs == 0
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (result.raw, counter.runs) == ("done", 1)

    async def test_a_failure_beside_a_waiting_task_ends_a_fail_fast_run(self) -> None:
        def fail(task: TaskInput) -> str:
            raise LookupError("gone")

        tasks = [Task("Pay", agent=payer("Paid.")), Task("Fail", handler=fail)]
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", tasks, workflow=Workflow.PARALLEL).run(context=over())
        assert caught.value.skipped == {"Pay": "it waits for an answer"}

    async def test_with_continue_a_failed_task_does_not_run_again_after_a_suspension(self) -> None:
        runs: list[str] = []

        def fail(task: TaskInput) -> str:
            runs.append(task.task_id)
            raise LookupError("gone")

        tasks = [Task("Pay", agent=payer("Paid.")), Task("Fail", handler=fail)]
        ensemble, context = Ensemble("E", tasks, workflow=Workflow.PARALLEL, on_error="continue"), over()
        waiting = await ensemble.run(context=context)
        assert waiting.status is RunStatus.WAITING
        with pytest.raises(TaskFailedError, match="LookupError: gone") as caught:
            await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (list(caught.value.completed), runs) == (["Pay"], ["Fail"])


class TestCrashes:
    @pytest.mark.parametrize("workflow", [Workflow.SEQUENTIAL, Workflow.PARALLEL])
    async def test_a_killed_and_resumed_ensemble_runs_no_completed_task_again(
        self, tmp_path: Path, workflow: Workflow
    ) -> None:
        address = tmp_path / "runs.db"
        counters = [Counter(f"c{number}") for number in range(5)]
        heard: list[Event] = []
        is_blocked = asyncio.Event()

        def build(blocks: bool) -> Ensemble:
            async def block(task: TaskInput) -> str:
                if blocks:
                    is_blocked.set()
                    await asyncio.Event().wait()
                return f"{task.values['topic']}: {' '.join(output.raw for output in task.context_outputs)}"

            model = ScriptedModel() if not blocks else ScriptedModel(Facts(count=3), "a text")
            typed = Task("Count", model=model, output_type=Facts)
            plain = Task("Write", model=model, context=[typed])
            counted = [Task(f"t{number}", context=[], handler=one) for number, one in enumerate(counters)]
            last = Task("Last", context=[typed, plain, *counted], handler=block)
            return Ensemble("Newsroom", [typed, plain, *counted, last], workflow=workflow)

        async with Platform(models=ScriptedModel(), store=SqliteStore(address)).register(build(True)) as first:
            run_id = await first.enqueue("Newsroom", {"topic": "AI"})
            working = asyncio.create_task(Worker(first).run_once())
            await asyncio.wait_for(is_blocked.wait(), 30)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

        second = Platform(models=ScriptedModel(), store=SqliteStore(address), on_event=heard.append)
        async with second.register(build(False)):
            assert await Worker(second).run_once()
            record = await RunStore(second.store).load(run_id)
            assert record is not None
            assert record.status is RunStatus.COMPLETED
            assert record.header.output == 'AI: {"count":3} a text c0 c1 c2 c3 c4'
        assert [counter.runs for counter in counters] == [1] * 5
        assert [event.task_id for event in heard if isinstance(event, TaskCompleted)] == ["Last"]
        assert [event.task_id for event in heard if isinstance(event, TaskStarted)] == ["Last"]

    async def test_a_saved_output_is_read_back_equal(self) -> None:
        store = JsonStore()
        typed = Task("Count", model=ScriptedModel(Facts(count=3)), output_type=Facts)
        tasks = [typed, Task("Pay", agent=payer("Paid."), context=[typed])]
        first = Platform(models=ScriptedModel(), store=store).register(Ensemble("E", tasks))
        ensemble = first.find_agent("E")
        assert isinstance(ensemble, Ensemble)
        waiting = await ensemble.run(context=first.context())
        second = Platform(models=ScriptedModel(), store=store)
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=second.context())
        output = result["Count"]
        assert (output.parsed, output.raw, output.usage.requests) == (Facts(count=3), '{"count":3}', 1)
        assert output.completed_at.tzinfo is not None

    @pytest.mark.parametrize("build", [Poet, write_poem])
    async def test_an_object_of_a_runnable_without_an_output_type_is_that_of_its_saved_run(
        self, build: Callable[[], object]
    ) -> None:
        WRITTEN.clear()
        context = durable()
        tasks = [Task("frogs", agent=build(), context=[]), Task("Pay", context=[], agent=payer("Paid."))]
        ensemble = Ensemble("E", tasks)
        waiting = await ensemble.run(context=context)
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (result["frogs"].parsed, WRITTEN) == (Poem("O frogs!"), ["O frogs!"])

    async def test_an_output_that_a_store_cannot_keep_is_refused_in_its_place(self) -> None:
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", [Task("Go", handler=lambda task: Opaque())]).run(context=durable())
        assert isinstance(caught.value.failed["Go"], StoredStateError)
