"""Reflection on tasks: the sentences of its description, in their order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tactician import Agent, Ensemble, InProcessReflections, Phase, PhaseDecision, PhaseReview, Reflection, Task
from tactician.ensemble import (
    EnsembleDefinitionError,
    ReflectionInput,
    ReflectionStore,
    TaskFailedError,
    TaskInput,
    TaskReflected,
    TaskReflection,
)
from tactician.errors import ConfigurationError, ModelError
from tactician.events import Event
from tactician.guardrails import GuardrailResult, failed, passed, retry
from tactician.runs import Budget, RunContext, RunStatus
from tactician.testing import FakeClock, ScriptedModel
from tests.ensemble.learning.support import now, over
from tests.ensemble.support import places_of, prompt_of, says

HEADING = "## Task Improvement Notes (from prior executions)"
DESCRIPTION = "Research the top 5 trends"
TIME_RANGE = "Be specific about the time range: the last 12 months only."
NUMBERED = "Structure the output as a numbered list."
NOTES = {"suggestions": [TIME_RANGE]}


def suggest(*texts: str | None) -> Reflection:
    """A reflection whose strategy gives these suggestions, one after another."""
    given = iter(texts)
    return Reflection(strategy=lambda _: next(given))


class TestTaskReflection:
    """Task reflection is a feedback loop built into the lifecycle of a task."""

    async def test_after_a_task_is_completed_a_model_reviews_whether_its_instructions_could_be_improved(self) -> None:
        model = ScriptedModel("Five trends.", NOTES)
        ensemble = Ensemble("E", [Task(DESCRIPTION, reflect=True)], model=model, reflections=InProcessReflections())
        result = await ensemble.run()
        assert result.raw == "Five trends."
        assert len(model.calls) == 2
        question = prompt_of(model, 1)
        assert f"## Task\n\n{DESCRIPTION}" in question
        assert "## Output\n\nFive trends." in question

    async def test_improvements_are_stored_and_stand_in_the_prompt_of_later_runs(self) -> None:
        model = ScriptedModel("1", NOTES, "2", {}, "3", {})
        task, store = Task(DESCRIPTION, reflect=True), InProcessReflections()
        ensemble = Ensemble("E", [task], model=model, reflections=store)
        await ensemble.run()
        await ensemble.run()
        await ensemble.run()
        assert HEADING not in prompt_of(model, 0)
        assert f"{HEADING}\n\n" in prompt_of(model, 2)
        assert f"### Suggestions\n\n- {TIME_RANGE}\n\n## Task\n\n{DESCRIPTION}" in prompt_of(model, 2)
        assert prompt_of(model, 4) == prompt_of(model, 2)
        assert [one.suggestions for one in await store.load(task.identity)] == [(TIME_RANGE,)]

    async def test_the_original_task_is_never_modified(self) -> None:
        notes = {"refined_description": "Research trends of 2026", "refined_expected_output": "A list"}
        task = Task(DESCRIPTION, expected_output="Trends", reflect=True)
        before = {name: getattr(task, name) for name in ("description", "expected_output", "id", "identity")}
        model = ScriptedModel("1", notes, "2", {})
        ensemble = Ensemble("E", [task], model=model, reflections=InProcessReflections())
        await ensemble.run()
        result = await ensemble.run()
        assert before == {name: getattr(task, name) for name in before}
        assert result.task_outputs[0].description == DESCRIPTION
        assert prompt_of(model, 2).endswith(f"## Task\n\n{DESCRIPTION}\n\n## Expected Output\n\nTrends")

    async def test_the_same_store_in_other_ensembles_keeps_the_reflections(self) -> None:
        task, store = Task(DESCRIPTION, reflect=suggest(TIME_RANGE, None)), InProcessReflections()
        await Ensemble("First", [task], model=ScriptedModel("1"), reflections=store).run()
        model = ScriptedModel("2")
        await Ensemble("Second", [task], model=model, reflections=store).run()
        assert TIME_RANGE in prompt_of(model)


def _note(event: Event, steps: list[str]) -> None:
    if event.type in ("TaskReflected", "TaskCompleted"):
        steps.append(event.type)


class TestPhaseReview:
    """Phase review fixes an output within a run, and reflection improves instructions across runs."""

    async def test_a_task_can_have_both_a_phase_review_and_reflection(self) -> None:
        decisions = iter([PhaseDecision.retry("Too long."), PhaseDecision.approve(), PhaseDecision.approve()])
        model, store = ScriptedModel("long", "short", "again"), InProcessReflections()
        task = Task("Write", reflect=Reflection(strategy=lambda review: f"Note on {review.output}."))
        phase = Phase("writing", [task], review=PhaseReview(lambda _: next(decisions)))
        ensemble = Ensemble("E", phases=[phase], model=model, reflections=store)
        await ensemble.run()
        assert "### Feedback\n\nToo long." in prompt_of(model, 1)
        await ensemble.run()
        assert "Too long." not in prompt_of(model, 2), "feedback is lost after the run"
        assert "- Note on short." in prompt_of(model, 2), "reflections last longer than the run"
        notes = [note for one in await store.load(task.identity) for note in one.notes]
        assert sorted(notes) == ["Note on again.", "Note on short."], "one of each accepted output"
        assert prompt_of(model, 2).endswith("## Task\n\nWrite")

    async def test_a_task_of_a_phase_without_a_store_is_a_mistake(self) -> None:
        phase = Phase("writing", [Task("Write", reflect=True, memory=["project"])])
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", phases=[phase], model=ScriptedModel()).check()
        assert places_of(caught.value.problems) == ["phases[0].tasks[0].memory[0]", "phases[0].tasks[0].reflect"]


class TestLifecycle:
    """Reflection is the last step of the lifecycle."""

    async def test_reflection_fires_after_the_guardrails_and_the_memory_and_before_the_task_is_completed(self) -> None:
        steps: list[str] = []

        def work(task: TaskInput) -> str:
            steps.append("task")
            return "done"

        def check(text: object) -> GuardrailResult:
            steps.append("guardrail")
            return passed()

        def reflect(input: ReflectionInput) -> None:
            steps.append("reflection")

        task = Task("T", handler=work, output_guardrails=[check], reflect=Reflection(strategy=reflect))
        ensemble = Ensemble("E", [task], reflections=InProcessReflections())
        await ensemble.run(context=over(listener=lambda event: _note(event, steps)))
        assert steps == ["task", "guardrail", "reflection", "TaskReflected", "TaskCompleted"]

    async def test_if_the_task_fails_reflection_does_not_fire(self) -> None:
        def fail(task: TaskInput) -> str:
            raise ConnectionError("no network")

        calls: list[ReflectionInput] = []
        task = Task("T", handler=fail, reflect=Reflection(strategy=calls.append))
        with pytest.raises(TaskFailedError):
            await Ensemble("E", [task], reflections=InProcessReflections()).run()
        assert calls == []

    async def test_if_guardrails_reject_the_output_reflection_does_not_fire(self) -> None:
        calls: list[ReflectionInput] = []
        task = Task(
            "T",
            handler=lambda _: "bad",
            output_guardrails=[lambda _: failed("bad")],
            reflect=Reflection(strategy=calls.append),
        )
        with pytest.raises(TaskFailedError):
            await Ensemble("E", [task], reflections=InProcessReflections()).run()
        assert calls == []

    async def test_reflection_fires_once_on_the_output_that_is_accepted_in_the_end(self) -> None:
        seen: list[str] = []
        answers = iter(["bad", "good"])
        task = Task(
            "T",
            handler=lambda _: next(answers),
            output_guardrails=[lambda text: passed() if text == "good" else retry("bad")],
            reflect=Reflection(strategy=lambda review: seen.append(review.output)),
        )
        await Ensemble("E", [task], reflections=InProcessReflections()).run()
        assert seen == ["good"]

    async def test_each_run_loads_reflects_and_stores(self) -> None:
        store, task = InProcessReflections(), Task(DESCRIPTION, reflect=suggest("one", "two", "three"))
        ensemble = Ensemble("E", [task], model=ScriptedModel("1", "2", "3"), reflections=store)
        clock = FakeClock()
        for _ in range(3):
            await ensemble.run(context=RunContext.over(ensemble.model, clock=clock))  # type: ignore[arg-type]
            clock.advance(60)
        assert [one.suggestions for one in await store.load(task.identity)] == [("three",), ("two",), ("one",)]

    async def test_a_strategy_sees_the_task_its_output_and_what_is_known_already(self) -> None:
        seen: list[ReflectionInput] = []

        def strategy(input: ReflectionInput) -> str:
            seen.append(input)
            return f"note {len(seen)}"

        task = Task(
            "Write about {topic}", id="write", expected_output="{n} words", reflect=Reflection(strategy=strategy)
        )
        ensemble = Ensemble("E", [task], model=ScriptedModel("a", "b"), reflections=InProcessReflections())
        await ensemble.run({"topic": "frogs", "n": 5})
        await ensemble.run({"topic": "newts", "n": 6})
        assert seen[0] == ReflectionInput("write", "Write about frogs", "5 words", "a")
        assert seen[1].description == "Write about newts"
        assert [one.suggestions for one in seen[1].prior] == [("note 1",)]

    async def test_a_handler_sees_the_reflections(self) -> None:
        seen: list[tuple[TaskReflection, ...]] = []
        task = Task("T", handler=lambda t: seen.append(t.reflections), reflect=suggest("note", None))
        ensemble = Ensemble("E", [task], reflections=InProcessReflections())
        await ensemble.run()
        await ensemble.run()
        assert [[one.suggestions for one in found] for found in seen] == [[], [("note",)]]


class TestIdentity:
    async def test_tasks_with_the_same_description_share_their_reflections(self) -> None:
        store, model = InProcessReflections(), ScriptedModel("1", "2")
        await Ensemble("A", [Task(DESCRIPTION, reflect=suggest(TIME_RANGE))], model=model, reflections=store).run()
        await Ensemble("B", [Task(DESCRIPTION, reflect=suggest(None))], model=model, reflections=store).run()
        assert TIME_RANGE in prompt_of(model, 1)

    async def test_the_description_counts_before_its_templates_are_filled_in(self) -> None:
        store, model = InProcessReflections(), ScriptedModel("1", "2")
        task = Task("Write about {topic}", reflect=suggest("Short sentences.", None))
        ensemble = Ensemble("E", [task], model=model, reflections=store)
        await ensemble.run({"topic": "frogs"})
        await ensemble.run({"topic": "newts"})
        assert "Short sentences." in prompt_of(model, 1)

    def test_it_is_a_hash_of_the_description_unless_the_task_has_an_id(self) -> None:
        assert Task("Write").identity == Task("Write", reflect=True, expected_output="x").identity
        assert Task("Write").identity != Task("Write it").identity
        assert "Write" not in Task("Write").identity
        assert Task("Write", id="w").identity == Task("Something else", id="w").identity == "w"

    async def test_a_task_whose_description_has_changed_begins_anew_unless_it_has_an_id(self) -> None:
        store, model = InProcessReflections(), ScriptedModel(*"1234")
        for task_id, (old, new) in {"": ("A", "B"), "w": ("C", "D")}.items():
            first, second = Task(old, id=task_id, reflect=suggest("note")), Task(new, id=task_id, reflect=suggest(None))
            await Ensemble("E", [first], model=model, reflections=store).run()
            await Ensemble("E", [second], model=model, reflections=store).run()
        assert [HEADING in prompt_of(model, call) for call in range(4)] == [False, False, False, True]

    async def test_the_reflections_on_a_task_can_be_cleared(self) -> None:
        store, task = InProcessReflections(), Task("T", handler=lambda _: 1, reflect=suggest("note"))
        await Ensemble("E", [task], reflections=store).run()
        await store.clear(task.identity)
        assert await store.load(task.identity) == []


class TestPrompt:
    async def prompt_after(self, *reflections: TaskReflection, limit: int | None = None) -> str:
        """The prompt of a task on which these reflections are stored, oldest first."""
        store, model, clock = InProcessReflections(), ScriptedModel("done"), FakeClock()
        settings = Reflection(max_reflections=limit, strategy=lambda _: None)
        task = Task(DESCRIPTION, context=[], reflect=settings)
        for reflection in reflections:
            await store.store(task.identity, reflection)
        await Ensemble("E", [task], model=model, reflections=store).run(context=over(clock=clock))
        return prompt_of(model)

    async def test_the_section_has_a_subsection_for_each_kind_of_note(self) -> None:
        reflection = TaskReflection(
            refined_description="Research 2026",
            refined_expected_output="A list",
            observations=("It drifted.",),
            suggestions=("Cite\na project.", TIME_RANGE),
        )
        assert await self.prompt_after(reflection) == (
            f"{HEADING}\n\n"
            "Notes from earlier runs of this task, newest first. They make the task clearer, and do not replace it.\n\n"
            "### Refined Instructions\n\n- Research 2026\n\n"
            "### Output Guidance\n\n- A list\n\n"
            "### Observations\n\n- It drifted.\n\n"
            f"### Suggestions\n\n- Cite\n  a project.\n- {TIME_RANGE}\n\n"
            f"## Task\n\n{DESCRIPTION}"
        )

    async def test_the_original_instructions_are_preserved(self) -> None:
        prompt = await self.prompt_after(TaskReflection(refined_description="Do something else"))
        assert prompt.endswith(f"## Task\n\n{DESCRIPTION}")

    async def test_notes_are_newest_first_and_equal_ones_stand_there_once(self) -> None:
        prompt = await self.prompt_after(*(TaskReflection(suggestions=(text,)) for text in ("a", "b", "a", "c")))
        assert prompt.count("- a") == 1
        assert prompt.index("- c") < prompt.index("- a") < prompt.index("- b")

    async def test_by_default_all_stored_reflections_are_used(self) -> None:
        prompt = await self.prompt_after(*(TaskReflection(suggestions=(f"note {n}.",)) for n in range(30)))
        assert all(f"- note {n}." in prompt for n in range(30))

    async def test_with_max_reflections_5_only_the_5_newest_are_used_and_older_ones_stay_in_the_store(self) -> None:
        store, model = InProcessReflections(), ScriptedModel("done")
        task = Task(DESCRIPTION, reflect=Reflection(max_reflections=5, strategy=lambda _: None))
        for number in range(8):
            await store.store(task.identity, TaskReflection(suggestions=(f"note {number}.",)))
        await Ensemble("E", [task], model=model, reflections=store).run()
        assert [n for n in range(8) if f"note {n}." in prompt_of(model)] == [3, 4, 5, 6, 7]
        assert len(await store.load(task.identity)) == 8

    async def test_the_section_is_bounded_and_has_the_newest_notes(self) -> None:
        prompt = await self.prompt_after(
            *(TaskReflection(refined_description=f"note {n}. " + "x" * 3_000) for n in range(10))
        )
        assert [n for n in range(10) if f"note {n}." in prompt] == [4, 5, 6, 7, 8, 9]

    async def test_failed_reflections_are_not_there_and_do_not_count(self) -> None:
        useful = TaskReflection(suggestions=("useful",))
        failures = [TaskReflection(failure="secret reason") for _ in range(5)]
        prompt = await self.prompt_after(useful, *failures, limit=1)
        assert "- useful" in prompt
        assert "secret reason" not in prompt

    def test_a_strategy_is_a_function(self) -> None:
        with pytest.raises(ConfigurationError, match="strategy: 'rules' is not a function"):
            Reflection(strategy="rules")  # type: ignore[arg-type]

    @pytest.mark.parametrize("limit", [0, -1])
    def test_at_least_one_reflection_is_used(self, limit: int) -> None:
        with pytest.raises(ConfigurationError, match="max_reflections must be > 0"):
            Reflection(max_reflections=limit)


class TestStrategy:
    async def reflect(self, settings: bool | Reflection, *steps: object) -> list[TaskReflection]:
        """The reflections after a run in which the model takes these steps after its answer."""
        store, task = InProcessReflections(), Task("T", expected_output="O", reflect=settings)
        model = ScriptedModel("done", *steps)
        await Ensemble("E", [task], model=model, reflections=store).run(context=over())
        model.assert_exhausted()
        return await store.load(task.identity)

    async def test_the_default_strategy_asks_the_model_of_the_task(self) -> None:
        model, other, store = ScriptedModel("done", {"observations": ["o"]}), ScriptedModel(), InProcessReflections()
        task = Task("T", agent=Agent(role="Writer", model=model), reflect=True)
        await Ensemble("E", [task], model=other, reflections=store).run()
        (reflection,) = await store.load(task.identity)
        assert reflection.observations == ("o",)

    async def test_a_model_without_notes_stores_nothing(self) -> None:
        assert await self.reflect(True, {}) == []

    async def test_a_refinement_that_repeats_the_task_is_none(self) -> None:
        assert await self.reflect(True, {"refined_description": "T ", "refined_expected_output": "O"}) == []

    async def test_a_text_is_a_suggestion(self) -> None:
        (reflection,) = await self.reflect(suggest("Always include a summary"))
        assert reflection.suggestions == ("Always include a summary",)

    async def test_a_strategy_may_be_async_and_call_another_model(self) -> None:
        reviewer = says("Reviewer", "Cite sources.")

        async def strategy(input: ReflectionInput) -> TaskReflection:
            return TaskReflection(suggestions=((await reviewer.run(input.output)).output,))

        (reflection,) = await self.reflect(Reflection(strategy=strategy))
        assert reflection.suggestions == ("Cite sources.",)

    @pytest.mark.parametrize("improvement", [None, "", "  ", TaskReflection(), TaskReflection(suggestions=(" ",))])
    async def test_no_improvement_stores_nothing(self, improvement: TaskReflection | str | None) -> None:
        assert await self.reflect(Reflection(strategy=lambda _: improvement)) == []

    async def test_a_reflection_holds_its_notes_and_the_time_by_the_clock_of_the_run(self) -> None:
        (reflection,) = await self.reflect(Reflection(strategy=lambda _: TaskReflection(observations=("o",))))
        assert (reflection.observations, reflection.created_at) == (("o",), now(FakeClock()))

    async def test_long_notes_are_cut_off(self) -> None:
        long = TaskReflection(refined_description="d" * 9_000, observations=("o" * 900,) * 20)
        (reflection,) = await self.reflect(Reflection(strategy=lambda _: long))
        assert len(reflection.refined_description) == 4_000
        assert [len(note) for note in reflection.observations] == [500] * 10


class TestFailures:
    async def run(
        self,
        settings: bool | Reflection,
        *steps: object,
        store: ReflectionStore | None = None,
        budget: Budget | None = None,
    ) -> tuple[list[TaskReflected], Sequence[TaskReflection]]:
        """The events and the reflections of a run that has to succeed."""
        events: list[Event] = []
        task, reflections = Task("T", reflect=settings), store or InProcessReflections()
        model = ScriptedModel("done", *steps)
        context = RunContext.over(model, events.append, clock=FakeClock())
        ensemble = Ensemble("E", [task], reflections=reflections, budget=budget)
        result = await ensemble.run(context=context)
        assert (result.raw, result.status) == ("done", RunStatus.COMPLETED)
        found = [event for event in events if isinstance(event, TaskReflected)]
        return found, [] if store is not None else await reflections.load(task.identity)

    async def test_a_strategy_that_raises_stores_a_failure_and_says_so(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail(input: ReflectionInput) -> str:
            raise ZeroDivisionError("nothing there")

        (event,), (reflection,) = await self.run(Reflection(strategy=fail))
        assert event.error == reflection.failure == "it could not be reflected on: ZeroDivisionError: nothing there"
        assert (reflection.notes, event.notes) == ((), ())
        assert "task 'T': it could not be reflected on" in caplog.text

    async def test_a_model_that_fails_stores_a_failure(self) -> None:
        (event,), (reflection,) = await self.run(True, ModelError("overloaded"))
        assert "overloaded" in reflection.failure
        assert event.error == reflection.failure

    async def test_an_answer_that_is_not_valid_stores_a_failure(self) -> None:
        _, (reflection,) = await self.run(True, *["no JSON"] * 10)
        assert reflection.failure

    async def test_a_strategy_that_returns_something_else_stores_a_failure(self) -> None:
        _, (reflection,) = await self.run(Reflection(strategy=lambda _: 5))  # type: ignore[arg-type, return-value]
        assert "returns a TaskReflection, a text or None, and not an int" in reflection.failure

    async def test_a_budget_that_is_used_up_fails_the_reflection_and_not_the_task(self) -> None:
        _, (reflection,) = await self.run(True, NOTES, budget=Budget(turns=1))
        assert "BudgetError" in reflection.failure

    async def test_a_store_that_does_not_answer_fails_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        class Broken(ReflectionStore):
            async def load(self, identity: str) -> Sequence[TaskReflection]:
                raise ConnectionError("not there")

            async def store(self, identity: str, reflection: TaskReflection) -> None:
                raise ConnectionError("still not there")

        events, _ = await self.run(suggest("note"), store=Broken())
        assert [event.error for event in events] == [
            "its reflections cannot be loaded: ConnectionError: not there",
            "its reflection cannot be stored: ConnectionError: still not there",
        ]
        assert "cannot be loaded" in caplog.text

    async def test_a_store_that_gives_what_is_no_reflection_fails_nothing(self) -> None:
        class Hostile(ReflectionStore):
            async def load(self, identity: str) -> Sequence[TaskReflection]:
                return ["no reflection"]  # type: ignore[list-item]

            async def store(self, identity: str, reflection: TaskReflection) -> None:
                pass

        (event, _), _ = await self.run(suggest("note"), store=Hostile())
        assert event.error is not None


class TestSelection:
    async def test_tasks_without_it_are_unaffected_and_the_store_is_asked_for_others_only(self) -> None:
        asked: list[str] = []

        class Noting(InProcessReflections):
            async def load(self, identity: str) -> list[TaskReflection]:
                asked.append(f"load {identity}")
                return await super().load(identity)

            async def store(self, identity: str, reflection: TaskReflection) -> None:
                asked.append(f"store {identity}")
                await super().store(identity, reflection)

        tasks = [
            Task("Fetch", id="fetch"),
            Task("Analyze", id="analyze", reflect=suggest("note")),
            Task("Format", id="format"),
        ]
        model = ScriptedModel("1", "2", "3")
        await Ensemble("E", tasks, model=model, reflections=Noting()).run()
        assert asked == ["load analyze", "store analyze"]
        assert len(model.calls) == 3

    async def test_reflection_adds_one_model_call_for_each_task_and_run(self) -> None:
        model = ScriptedModel(*["answer", {}] * 4)
        tasks = [Task("A", reflect=True), Task("B", reflect=True)]
        ensemble = Ensemble("E", tasks, model=model, reflections=InProcessReflections())
        for _ in range(2):
            await ensemble.run()
        assert len(model.calls) == 8

    async def test_its_usage_counts_to_the_run_and_not_to_the_output(self) -> None:
        def run(*, reflect: bool) -> Ensemble:
            return Ensemble(
                "E", [Task("T", reflect=reflect)], model=ScriptedModel("done", {}), reflections=InProcessReflections()
            )

        plain, reflecting = await run(reflect=False).run(), await run(reflect=True).run()
        assert (plain.usage.requests, reflecting.usage.requests) == (1, 2)
        assert reflecting.task_outputs[0].usage.requests == 1

    async def test_reflection_without_a_store_is_a_mistake_with_its_place(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="the ensemble has no store for it") as caught:
            await Ensemble("E", [Task("A", handler=str), Task("B", handler=str, reflect=True)]).check()
        assert places_of(caught.value.problems) == ["tasks[1].reflect"]

    def test_wrong_settings_are_mistakes_with_their_places(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="5 is neither True nor a Reflection"):
            Task("T", reflect=5)  # type: ignore[call-overload]
        with pytest.raises(EnsembleDefinitionError, match="is not a store of reflections"):
            Ensemble("E", [Task("T")], reflections="state.db")  # type: ignore[arg-type]
