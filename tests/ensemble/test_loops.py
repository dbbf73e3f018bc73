"""Loops: tasks that are repeated until a predicate holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tactician import Ensemble, InProcessMemory, Loop, RunStatus, Scope, Task, Window, Workflow, approve
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    LoopLimitError,
    PredicateError,
    TaskCompleted,
    TaskFailedError,
    TaskInput,
    TaskOutputs,
)
from tactician.events import Event
from tactician.testing import ScriptedModel
from tests.ensemble.support import cashier, counter, durable, numbered, over, places_of, prompt_of, says, script_of


def raw_of(outputs: Sequence[object]) -> list[str]:
    """The texts of outputs."""
    return [str(getattr(output, "raw", output)) for output in outputs]


async def run(*tasks: Task | Loop, workflow: Workflow | None = Workflow.SEQUENTIAL) -> EnsembleResult:
    """Run tasks one after another."""
    return await Ensemble("E", tasks, workflow=workflow).run({}, context=over())


def reached(text: str) -> Callable[[TaskOutputs], bool]:
    """A predicate that holds once the last output is this one."""
    return lambda outputs: outputs.last.raw == text


class TestIterations:
    async def test_a_loop_repeats_its_tasks_until_the_predicate_holds(self) -> None:
        writer, critic = says("Writer", "one", "two"), says("Critic", "no", "APPROVED")
        draft, critique = Task("Draft", agent=writer), Task("Critique", agent=critic)
        loop = Loop([draft, critique], until=lambda t: "APPROVED" in t.last.raw)
        result = await run(loop)
        assert (result.raw, result["Draft"].raw, result["Critique"].raw) == ("APPROVED", "two", "APPROVED")
        assert result.status is RunStatus.COMPLETED

    async def test_the_predicate_gets_all_outputs_and_the_last_one(self) -> None:
        seen: list[list[str]] = []

        def until(t: TaskOutputs) -> bool:
            seen.append([output.raw for output in t.outputs])
            return t["a"].raw == "a2" and t.last.raw == "b2"

        await run(Loop(numbered("a", "b"), until=until))
        assert seen == [["a1", "b1"], ["a1", "b1", "a2", "b2"]]

    async def test_the_predicate_may_be_async(self) -> None:
        async def until(t: TaskOutputs) -> bool:
            return t.last.raw == "a3"

        assert (await run(Loop(numbered("a"), until=until))).raw == "a3"

    async def test_max_iterations_is_5_by_default(self) -> None:
        assert (await run(Loop(numbered("a"), until=lambda t: False))).raw == "a5"

    async def test_without_a_predicate_the_loop_runs_max_iterations_and_that_is_no_limit(self) -> None:
        loop = Loop(numbered("a"), max_iterations=3, on_limit="raise")
        assert (await run(loop)).raw == "a3"

    async def test_a_predicate_that_raises_is_named_with_the_loop_and_the_iteration(self) -> None:
        def until(t: TaskOutputs) -> bool:
            raise ValueError("no such field")

        with pytest.raises(TaskFailedError) as caught:
            await run(Loop(numbered("a"), until=until, id="improve"))
        error = caught.value.failed["improve"]
        assert isinstance(error, PredicateError)
        assert "Loop 'improve': its `until` after iteration 1 failed: ValueError: no such field" in str(error)
        assert raw_of(error.outputs) == ["a1"]

    async def test_a_task_that_fails_is_named_with_the_loop_and_the_iteration(self) -> None:
        def fail(task: TaskInput) -> str:
            raise ConnectionError("the press is down")

        with pytest.raises(TaskFailedError, match=r"Loop 'l', iteration 1: .*task 'press': Conn"):
            await run(Loop([*numbered("a"), Task("Print", id="press", handler=fail)], id="l"))


class TestLimit:
    async def test_return_last_gives_the_last_iteration(self) -> None:
        result = await run(Loop(numbered("a"), until=lambda t: False, max_iterations=2, id="l"))
        assert (result.raw, result["l"].limit_reached) == ("a2", False)

    async def test_flag_gives_the_last_iteration_with_limit_reached(self) -> None:
        loop = Loop(numbered("a"), until=lambda t: False, max_iterations=2, on_limit="flag", id="l")
        result = await run(loop)
        assert (result.raw, result["l"].limit_reached) == ("a2", True)

    async def test_flag_is_not_set_when_the_predicate_holds_in_the_last_iteration(self) -> None:
        loop = Loop(numbered("a"), until=reached("a2"), max_iterations=2, on_limit="flag", id="l")
        assert not (await run(loop))["l"].limit_reached

    async def test_raise_raises_with_all_outputs(self) -> None:
        loop = Loop(numbered("a"), until=lambda t: False, max_iterations=2, on_limit="raise", id="l")
        with pytest.raises(TaskFailedError) as caught:
            await run(loop)
        error = caught.value.failed["l"]
        assert isinstance(error, LoopLimitError)
        assert raw_of(error.outputs) == ["a1", "a2"]
        assert "its `until` has not held after 2 iterations" in str(error)


class TestOutputs:
    @pytest.mark.parametrize(
        ("outputs", "expected"),
        [("last", ["a2", "b2"]), ("final_task", ["b2"]), ("all", ["a1", "b1", "a2", "b2"])],
    )
    async def test_outputs_choose_what_is_kept_and_what_other_tasks_see(
        self, outputs: str, expected: list[str]
    ) -> None:
        seen: list[TaskInput] = []
        loop = Loop(numbered("a", "b"), until=reached("b2"), outputs=outputs, id="l")  # type: ignore[arg-type]
        result = await run(loop, *numbered("after", seen=seen))
        assert raw_of(result["l"].parts) == raw_of(seen[0].context_outputs) == expected

    async def test_a_loop_is_the_context_of_another_task(self) -> None:
        loop = Loop([Task("Draft", agent=says("Writer", "text"))], max_iterations=1, id="l")
        publish = Task("Publish", agent=says("Editor", "done"), context=[loop])
        assert (await run(loop, publish, workflow=None)).raw == "done"
        assert publish.agent is not None
        assert "### Writer: Draft\n\ntext" in prompt_of(script_of(publish.agent))  # type: ignore[arg-type]

    async def test_the_outputs_are_found_by_id_and_counted_once(self) -> None:
        loop = Loop(numbered("a", "b"), max_iterations=2, id="l")
        result = await run(loop, *numbered("c"))
        assert [output.task_id for output in result.task_outputs] == ["l", "c"]
        assert (result["a"].raw, result["l"].role, result["l"].raw) == ("a2", "(loop)", "b2")
        with pytest.raises(KeyError, match="no completed task has the id 'd'"):
            result["d"]


class TestContext:
    async def test_a_task_gets_the_output_of_the_one_before_and_the_first_what_the_loop_gets(self) -> None:
        seen: list[TaskInput] = []
        await run(*numbered("before"), Loop(numbered("a", "b", seen=seen), max_iterations=1))
        assert [raw_of(task.context_outputs) for task in seen] == [["before1"], ["a1"]]

    async def test_the_first_task_sees_the_text_of_the_caller_in_each_iteration(self) -> None:
        seen: list[TaskInput] = []
        loop = Loop(numbered("a", "b", seen=seen), max_iterations=2)
        await Ensemble("E", [loop]).run("frogs", context=over())
        assert [task.text for task in seen] == ["frogs", "", "frogs", ""]

    async def test_a_task_may_name_a_task_outside_which_the_loop_then_waits_for(self) -> None:
        seen: list[TaskInput] = []
        (facts,) = numbered("facts")
        check = Task("Check", id="check", context=[facts], handler=counter("check", seen))
        loop = Loop([*numbered("a", seen=seen), check], max_iterations=1)
        await run(loop, facts, workflow=Workflow.PARALLEL)
        assert [raw_of(task.context_outputs) for task in seen] == [[], ["facts1"]]

    async def test_a_context_of_the_loop_is_that_of_its_first_task(self) -> None:
        seen: list[TaskInput] = []
        facts, more = numbered("facts", "more")
        second = Task("b", context=[more], handler=counter("b", seen))
        loop = Loop([*numbered("a", seen=seen), second], max_iterations=1, context=[facts])
        await run(facts, more, loop, workflow=Workflow.PARALLEL)
        assert [raw_of(task.context_outputs) for task in seen] == [["facts1"], ["more1"]]


class TestMemory:
    @pytest.mark.parametrize(
        ("memory", "expected"),
        [
            ("accumulate", [[], ["a1"], ["a1", "a2"], ["a1", "a2", "a3"]]),
            ("fresh", [[], [], [], []]),
            (Window(2), [[], ["a1"], ["a1", "a2"], ["a2", "a3"]]),
        ],
    )
    async def test_tasks_see_what_earlier_iterations_gave(self, memory: object, expected: list[list[str]]) -> None:
        seen: list[TaskInput] = []
        await run(Loop(numbered("a", seen=seen), max_iterations=4, memory=memory))  # type: ignore[arg-type]
        assert [raw_of(task.earlier_outputs) for task in seen] == expected

    @pytest.mark.parametrize(
        ("memory", "expected"),
        [
            ("accumulate", [["old"], ["a1", "old"], ["a2", "a1", "old"], ["a3", "a2", "a1", "old"]]),
            ("fresh", [["old"]] * 4),
            (Window(2), [["old"], ["a1", "old"], ["a2", "a1", "old"], ["a3", "a2", "old"]]),
        ],
    )
    async def test_tasks_with_scopes_recall_earlier_iterations_by_the_same_modes(
        self, memory: object, expected: list[list[str]]
    ) -> None:
        seen: list[TaskInput] = []
        notes = InProcessMemory({"notes": Scope(keep_last=50)})
        await notes.add("notes", "old", context=over())
        task = Task("a", handler=counter("a", seen), memory=["notes"])
        loop = Loop([task], max_iterations=4, memory=memory)  # type: ignore[arg-type]
        await Ensemble("E", [loop], memory=notes).run({}, context=over())
        assert [[entry.content for entry in task.memory["notes"]] for task in seen] == expected
        assert [task.earlier_outputs for task in seen] == [()] * 4
        assert len(await notes.entries("notes")) == 5

    async def test_a_scope_inside_that_is_not_declared_is_a_mistake(self) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", [Loop([Task("a", memory=["x"])])], model=ScriptedModel()).check({}, context=over())
        assert places_of(caught.value.problems) == ["tasks[0].tasks[0].memory[0]"]

    async def test_earlier_iterations_stand_before_the_context_in_the_prompt(self) -> None:
        writer, critic = says("Writer", "one", "two"), says("Critic", "longer", "fine")
        loop = Loop([Task("Draft", agent=writer), Task("Critique", agent=critic)], max_iterations=2)
        await run(*numbered("before"), loop)
        prompt = prompt_of(script_of(writer), 1)
        sections = ["### Writer: Draft (earlier iteration)", "### Critic: Critique (earlier iteration)", "before1"]
        assert [prompt.index(section) for section in sections] == sorted(prompt.index(section) for section in sections)


class TestMistakes:
    @pytest.mark.parametrize(
        ("make", "place", "message"),
        [
            (lambda: Loop([]), "tasks", "must have at least one task"),
            (lambda: Loop(["x"]), "tasks[0]", "'x' is not a Task"),  # type: ignore[list-item]
            (lambda: Loop([Task("a")], until="x"), "until", "not a function"),  # type: ignore[arg-type]
            (lambda: Loop([Task("a")], max_iterations=0), "max_iterations", "must be > 0, got: 0"),
            (lambda: Loop([Task("a")], on_limit="stop"), "on_limit", "'return_last'"),  # type: ignore[arg-type]
            (lambda: Loop([Task("a")], outputs="some"), "outputs", "'final_task'"),  # type: ignore[arg-type]
            (lambda: Loop([Task("a")], memory="some"), "memory", "'accumulate', 'fresh'"),  # type: ignore[arg-type]
            (lambda: Loop([Task("a")], memory=Window(0)), "memory", "at least one iteration"),
            (lambda: Loop([Task("a")], context=["x"]), "context[0]", "'x' is not a Task"),  # type: ignore[list-item]
        ],
    )
    def test_a_loop_names_the_place_and_the_mistake(self, make: Callable[[], Loop], place: str, message: str) -> None:
        with pytest.raises(EnsembleDefinitionError, match=message) as caught:
            make()
        assert places_of(caught.value.problems) == [place]

    def test_duplicate_ids_and_a_context_that_comes_later_are_mistakes(self) -> None:
        later = Task("later")
        with pytest.raises(EnsembleDefinitionError) as caught:
            Loop([Task("a"), Task("a"), Task("b", context=[later]), later])
        assert places_of(caught.value.problems) == ["tasks[0].id", "tasks[1].id", "tasks[2].context[0]"]


class TestDurability:
    async def test_a_loop_that_waits_in_the_middle_of_an_iteration_goes_on_there(self) -> None:
        heard: list[Event] = []
        seen: list[TaskInput] = []
        context = durable(listener=heard.append)
        tasks = [*numbered("a", seen=seen), Task("Pay", agent=cashier("paid 1", "paid 2"))]
        ensemble = Ensemble("E", [Loop(tasks, until=reached("paid 2"), id="l")])
        result = await ensemble.run({}, context=context)
        for number in (1, 2):
            assert result.status is RunStatus.WAITING
            assert len(seen) == number
            result = await ensemble.resume(result.run_id, {result.pending[0].id: approve()}, context=context)
        assert (result.raw, len(seen)) == ("paid 2", 2)
        completed = [event.task_id for event in heard if isinstance(event, TaskCompleted)]
        assert completed == ["a", "Pay", "a", "Pay", "l"]
        assert raw_of(result["l"].parts) == ["a2", "paid 2"]

    async def test_the_predicate_is_asked_once_for_each_iteration(self) -> None:
        asked: list[str] = []

        def until(t: TaskOutputs) -> bool:
            asked.append(t.last.raw)
            return len(asked) == 2

        context = durable()
        ensemble = Ensemble("E", [Loop(numbered("a"), until=until), Task("Pay", agent=cashier("paid"))])
        waiting = await ensemble.run({}, context=context)
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (result.raw, asked) == ("paid", ["a1", "a2"])


class TestNesting:
    async def test_a_loop_in_a_loop(self) -> None:
        inner = Loop(numbered("a"), max_iterations=2, id="inner")
        outer = Loop([inner, *numbered("b")], max_iterations=2, id="outer")
        result = await run(outer)
        assert (result.raw, result["inner"].raw, result["a"].raw) == ("b2", "a4", "a4")

    async def test_the_model_and_the_tools_of_the_ensemble_are_those_of_the_tasks_of_a_loop(self) -> None:
        def shout(text: str) -> str:
            """Shout."""
            return text.upper()

        model = ScriptedModel("a draft")
        loop = Loop([Task("Draft {topic}")], max_iterations=1)
        await Ensemble("E", [loop], model=model, tools=[shout]).run({"topic": "frogs"}, context=over())
        assert [tool.name for tool in model.calls[0].tools] == ["shout"]
        assert "Draft frogs" in prompt_of(model)
