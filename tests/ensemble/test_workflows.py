"""Workflows: the order of tasks, and what a failed task does."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from tactician import Budget, Ensemble, Review, RunStatus, Task, Workflow
from tactician.ensemble import TaskCompleted, TaskFailed, TaskFailedError, TaskInput, TaskStarted
from tactician.events import Event
from tactician.runs import RunError
from tactician.testing import ScriptedModel
from tests.ensemble.support import durable, over, prompt_of, says, script_of


class Journal:
    """Handlers that note when they start and end."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.seen: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.gates: dict[str, asyncio.Event] = {}

    def note(self, text: str) -> None:
        """Note something."""
        self.notes.append(text)
        self.seen[text].set()

    def task(self, name: str, *context: Task, fails: bool = False, waits: bool = False) -> Task:
        """A task that notes its start and its end. One that waits ends when its gate opens."""
        if waits:
            self.gates[name] = asyncio.Event()

        async def handle(task: TaskInput) -> str:
            self.note(f"{name} starts")
            if name in self.gates:
                await self.gates[name].wait()
            await asyncio.sleep(0)
            if fails:
                raise LookupError(f"no {name}")
            self.note(f"{name} ends")
            return "".join((*(output.raw for output in task.context_outputs), name))

        return Task(f"Do {name}", id=name, context=context or [], handler=handle)


@pytest.fixture
def journal() -> Journal:
    return Journal()


class TestSequential:
    async def test_tasks_execute_one_after_another_in_list_order(self, journal: Journal) -> None:
        tasks = [journal.task(name) for name in "cab"]
        result = await Ensemble("E", tasks).run(context=over())
        assert journal.notes == ["c starts", "c ends", "a starts", "a ends", "b starts", "b ends"]
        assert [output.task_id for output in result.task_outputs] == ["c", "a", "b"]

    async def test_output_flows_forward_as_context(self) -> None:
        first, second, third = says("A", "one"), says("B", "two"), says("C", "three")
        tasks = [Task(f"task {agent.name}", agent=agent) for agent in (first, second, third)]
        result = await Ensemble("E", tasks, workflow=Workflow.SEQUENTIAL).run(context=over())
        assert "### A: task A\n\none" in prompt_of(script_of(second))
        assert "### B: task B\n\ntwo" in prompt_of(script_of(third))
        assert "one" not in prompt_of(script_of(third))
        assert result.raw == "three"

    async def test_a_task_with_an_empty_context_list_has_no_prior_context_injected(self) -> None:
        first, second = says("A", "one"), says("B", "two")
        await Ensemble("E", [Task("a", agent=first), Task("b", agent=second, context=[])]).run(context=over())
        assert prompt_of(script_of(second)) == "## Task\n\nb"

    async def test_in_a_sequence_a_declared_context_does_not_start_tasks_earlier(self, journal: Journal) -> None:
        a, b, c = (journal.task(name) for name in "abc")
        await Ensemble("E", [a, b, c], workflow=Workflow.SEQUENTIAL, max_parallel=3).run(context=over())
        assert journal.notes[1::2] == ["a ends", "b ends", "c ends"]


class TestParallel:
    async def test_a_task_starts_when_its_context_tasks_are_completed(self, journal: Journal) -> None:
        slow, fast = journal.task("slow", waits=True), journal.task("fast")
        after = journal.task("after", fast)
        last = journal.task("last", slow, after)
        running = asyncio.create_task(Ensemble("E", [slow, fast, after, last]).run(context=over()))
        async with asyncio.timeout(30):
            await journal.seen["after ends"].wait()
        journal.gates["slow"].set()
        result = await running
        assert journal.notes[-4:] == ["after ends", "slow ends", "last starts", "last ends"]
        assert result.raw == "slowfastafterlast"
        assert [output.task_id for output in result.task_outputs] == ["fast", "after", "slow", "last"]

    async def test_multiple_tasks_share_the_same_context_task(self, journal: Journal) -> None:
        base = journal.task("base")
        result = await Ensemble("E", [base, journal.task("x", base), journal.task("y", base)]).run(context=over())
        assert [result[name].raw for name in ("x", "y")] == ["basex", "basey"]
        assert journal.notes.count("base starts") == 1

    async def test_tasks_may_stand_in_any_order(self, journal: Journal) -> None:
        base = journal.task("base")
        result = await Ensemble("E", [journal.task("x", base), base]).run(context=over())
        assert result["x"].raw == "basex"

    async def test_max_parallel_limits_the_tasks_that_run_at_once(self, journal: Journal) -> None:
        tasks = [journal.task(name) for name in "abc"]
        await Ensemble("E", tasks, workflow=Workflow.PARALLEL, max_parallel=1).run(context=over())
        assert journal.notes[::2] == ["a starts", "b starts", "c starts"]
        assert journal.notes[1::2] == ["a ends", "b ends", "c ends"]


class TestInference:
    def test_without_a_workflow_any_context_infers_parallel_and_none_sequential(self) -> None:
        first = Task("a")
        assert Ensemble("E", [first, Task("b", context=[first])]).workflow is Workflow.PARALLEL
        assert Ensemble("E", [first, Task("b", context=[])]).workflow is Workflow.SEQUENTIAL

    def test_a_workflow_that_is_given_counts(self) -> None:
        first = Task("a")
        tasks = [first, Task("b", context=[first])]
        assert Ensemble("E", tasks, workflow=Workflow.SEQUENTIAL).workflow is Workflow.SEQUENTIAL


class TestFailures:
    async def test_fail_fast_starts_nothing_new_and_lets_what_runs_finish(self, journal: Journal) -> None:
        running, failing = journal.task("running", waits=True), journal.task("failing", fails=True)
        tasks = [running, failing, journal.task("after", running), journal.task("more", failing)]
        run = asyncio.create_task(Ensemble("E", tasks).run(context=over()))
        async with asyncio.timeout(30):
            await journal.seen["failing starts"].wait()
            for _ in range(5):
                await asyncio.sleep(0)
            journal.gates["running"].set()
            with pytest.raises(TaskFailedError) as caught:
                await run
        error = caught.value
        assert journal.notes[-1] == "running ends"
        assert {name: output.raw for name, output in error.completed.items()} == {"running": "running"}
        assert str(error.failed["failing"]) == "no failing"
        assert error.skipped.keys() == {"after", "more"}
        assert isinstance(error.result.status, RunStatus)
        assert error.result.status is RunStatus.FAILED

    async def test_continue_skips_dependents_and_then_raises_with_all_outputs(self, journal: Journal) -> None:
        failing, fine = journal.task("failing", fails=True), journal.task("fine")
        dependent = journal.task("dependent", failing)
        tasks = [failing, dependent, journal.task("further", dependent), fine, journal.task("after", fine)]
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", tasks, on_error="continue").run(context=over())
        error = caught.value
        assert error.completed.keys() == {"fine", "after"}
        assert error.failed.keys() == {"failing"}
        assert "the step 'failing' failed" in error.skipped["dependent"]
        assert "failing" in error.skipped["further"]
        assert "1 failed (2 completed, 2 skipped): task 'failing': LookupError: no failing" in str(error)

    async def test_a_failed_task_ends_a_sequence(self, journal: Journal) -> None:
        tasks = [journal.task("a"), journal.task("b", fails=True), journal.task("c")]
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", tasks).run(context=over())
        assert journal.notes == ["a starts", "a ends", "b starts"]
        assert (list(caught.value.completed), list(caught.value.skipped)) == (["a"], ["c"])
        assert isinstance(caught.value.__cause__, LookupError)

    async def test_a_failure_of_a_model_is_that_of_its_task(self) -> None:
        agent = says("A", ValueError("broken"))
        with pytest.raises(TaskFailedError, match="task 'Go': ValueError: broken"):
            await Ensemble("E", [Task("Go", agent=agent)]).run(context=over())

    async def test_a_budget_that_is_used_up_starts_no_further_task(self) -> None:
        tasks = [Task("a", agent=says("A", "one")), Task("b", agent=says("B", "two"))]
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", tasks, budget=Budget(tokens=10)).run(context=over())
        assert list(caught.value.completed) == ["a"]
        assert caught.value.result.status is caught.value.status is RunStatus.TERMINATED
        assert isinstance(caught.value.failed["b"], RunError)
        assert caught.value.failed["b"].result.status is RunStatus.TERMINATED

    async def test_the_reason_of_a_failure_is_the_same_after_any_number_of_suspensions(self, journal: Journal) -> None:
        reviewed = Task("b", handler=lambda _: "B", review=[Review.before(), Review.after()])
        tasks = [journal.task("a", fails=True), reviewed]
        ensemble = Ensemble("E", tasks, workflow=Workflow.PARALLEL, on_error="continue")
        context = durable()
        waiting = await ensemble.run(context=context)
        waiting = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: "approve"}, context=context)
        with pytest.raises(TaskFailedError) as caught:
            await ensemble.resume(waiting.run_id, {waiting.pending[0].id: "approve"}, context=context)
        assert str(caught.value.failed["a"]) == "LookupError: no a"
        assert journal.notes == ["a starts"]

    @pytest.mark.parametrize("steps", range(1, 30))
    async def test_cancelling_the_run_cancels_everything(self, journal: Journal, steps: int) -> None:
        tasks = [journal.task("a", waits=True), journal.task("b", waits=True), journal.task("c")]
        run = asyncio.create_task(Ensemble("E", tasks, workflow=Workflow.PARALLEL).run(context=over()))
        for _ in range(steps):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert asyncio.all_tasks() == {asyncio.current_task()}


class TestIndependence:
    async def test_run_called_multiple_times_has_no_shared_mutable_state(self) -> None:
        model = ScriptedModel()
        for number in range(20):
            model.when(prompt_contains=f"facts {number}\n").reply(f"report {number}")
            model.when(prompt_contains=f"Research {number}.").reply(f"facts {number}")
        research = Task("Research {topic}.")
        ensemble = Ensemble("E", [research, Task("Report", context=[research])], model=model)
        runs = [ensemble.run({"topic": number}, context=over()) for number in range(20)]
        assert [result.raw for result in await asyncio.gather(*runs)] == [f"report {number}" for number in range(20)]

    async def test_all_tasks_may_be_assigned_to_the_same_agent(self) -> None:
        agent = says("A", "one", "two")
        tasks = [Task("a", agent=agent), Task("b", agent=agent)]
        assert (await Ensemble("E", tasks, agents=[agent]).run(context=over())).raw == "two"


class TestEvents:
    async def test_each_task_has_events_of_its_start_and_its_end(self, journal: Journal) -> None:
        heard: list[Event] = []
        tasks = [journal.task("a"), journal.task("b", fails=True)]
        with pytest.raises(TaskFailedError):
            await Ensemble("E", tasks).run(context=over(listener=heard.append))
        own = [event for event in heard if isinstance(event, TaskStarted | TaskCompleted | TaskFailed)]
        assert [(event.type, event.task_id) for event in own] == [
            ("TaskStarted", "a"), ("TaskCompleted", "a"), ("TaskStarted", "b"), ("TaskFailed", "b"),
        ]  # fmt: skip
        assert {event.path for event in own} == {("E",)}
        assert own[1].describe().startswith("task 'a' is completed")
        assert own[3].describe() == "task 'b' failed: LookupError: no b"
