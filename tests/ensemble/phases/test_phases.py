"""Phases: groups of tasks as a graph."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Ensemble, Phase, PhaseReview, Task, Workflow
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    PhaseCompleted,
    PhaseFailed,
    PhaseReviewed,
    PhaseStarted,
    TaskFailedError,
    TaskInput,
)
from tactician.events import Event
from tactician.testing import ScriptedModel
from tests.ensemble.support import over, places_of, prompt_of


def join(task: TaskInput) -> str:
    """Return the outputs that a task sees."""
    return f"{task.task_id}({' '.join(output.raw for output in task.context_outputs)})"


def fail(task: TaskInput) -> str:
    """Fail."""
    raise LookupError("gone")


def approve_all(task: TaskInput) -> str:
    """Approve."""
    return "APPROVE"


class TestOrder:
    async def test_the_output_of_the_last_phase_is_that_of_the_ensemble(self) -> None:
        one = Phase("one", [Task("a", handler=join)])
        two = Phase("two", [Task("b", handler=join)], after=[one])
        result = await Ensemble("E", phases=[one, two]).run(context=over())
        assert (result.output, [output.task_id for output in result.task_outputs]) == ("b(a())", ["a", "b"])
        assert {name: output.raw for name, output in result.phase_outputs.items()} == {"one": "a()", "two": "b(a())"}
        assert result.phase_outputs["one"]["a"].raw == "a()"

    async def test_a_phase_that_names_no_context_sees_the_last_output_of_each_phase_before_it(self) -> None:
        research = Phase("research", [Task("gather", handler=join), Task("verify", handler=join)])
        survey = Phase("survey", [Task("ask", handler=join), Task("count", handler=join)], workflow=Workflow.PARALLEL)
        report = Phase("report", [Task("draft", handler=join), Task("edit", handler=join)], after=[research, survey])
        result = await Ensemble("E", phases=[research, survey, report]).run(context=over())
        assert result.raw == "edit(draft(verify(gather()) ask() count()))"

    async def test_a_task_can_name_tasks_of_any_phase_before_it_as_context(self) -> None:
        first = Task("first", handler=join)
        one = Phase("one", [first])
        two = Phase("two", [Task("second", handler=join)], after=[one])
        three = Phase("three", [Task("third", context=[first], handler=join)], after=[two])
        result = await Ensemble("E", phases=[one, two, three]).run(context=over())
        assert result.raw == "third(first())"

    async def test_a_task_with_an_empty_context_sees_no_outputs_of_phases(self) -> None:
        one = Phase("one", [Task("a", handler=join)])
        two = Phase("two", [Task("b", context=[], handler=join)], after=[one])
        assert (await Ensemble("E", phases=[one, two]).run(context=over())).raw == "b()"

    async def test_outputs_of_phases_are_in_the_prompts_of_later_ones(self) -> None:
        model = ScriptedModel("Frogs have no ears.", "A report.")
        one = Phase("one", [Task("Research {topic}")])
        two = Phase("two", [Task("Write a report")], after=[one])
        await Ensemble("E", phases=[one, two]).run({"topic": "frogs"}, context=over(model))
        assert prompt_of(model, 1).startswith(
            "## Context from Previous Tasks\n\n### Researcher: Research frogs\n\nFrogs have no ears."
        )

    async def test_independent_phases_run_at_once(self) -> None:
        running = asyncio.Barrier(2)

        async def meet(task: TaskInput) -> str:
            await asyncio.wait_for(running.wait(), 30)
            return "met"

        phases = [Phase(name, [Task(name, handler=meet)]) for name in ("left", "right")]
        assert (await Ensemble("E", phases=phases).run(context=over())).raw == "met"

    async def test_no_more_tasks_than_max_parallel_run_at_once_in_all_phases_together(self) -> None:
        busy: list[int] = []
        most: list[int] = []

        async def work(task: TaskInput) -> str:
            busy.append(1)
            most.append(len(busy))
            await asyncio.sleep(0)
            busy.pop()
            return ""

        phases = [
            Phase(str(number), [Task(f"{number}{name}", handler=work) for name in "ab"], workflow=Workflow.PARALLEL)
            for number in range(3)
        ]
        await Ensemble("E", phases=phases, max_parallel=2).run(context=over())
        assert max(most) == 2

    async def test_each_phase_has_its_own_workflow(self) -> None:
        sequence = Phase("one", [Task("a", handler=join), Task("b", handler=join)], workflow=Workflow.SEQUENTIAL)
        parallel = Phase("two", [Task("c", handler=join), Task("d", handler=join)], workflow=Workflow.PARALLEL)
        result = await Ensemble("E", phases=[sequence, parallel]).run(context=over())
        assert (result["b"].raw, result["d"].raw) == ("b(a())", "d()")

    async def test_the_workflow_of_the_ensemble_is_that_of_phases_without_one(self) -> None:
        phase = Phase("one", [Task("a", handler=join), Task("b", handler=join)])
        assert (await Ensemble("E", phases=[phase]).run(context=over())).raw == "b(a())"
        parallel = Ensemble("E", phases=[phase], workflow=Workflow.PARALLEL)
        assert (await parallel.run(context=over())).raw == "b()"

    async def test_a_context_in_an_earlier_phase_does_not_make_a_phase_parallel(self) -> None:
        first = Task("a", handler=join)
        one = Phase("one", [first])
        two = Phase("two", [Task("b", context=[first], handler=join), Task("c", handler=join)], after=[one])
        assert (await Ensemble("E", phases=[one, two]).run(context=over())).raw == "c(b(a()))"

    async def test_the_first_tasks_of_the_first_phases_see_the_text_of_the_caller(self) -> None:
        model = ScriptedModel("one", "two")
        first = Phase("first", [Task("Research")])
        phases = [first, Phase("second", [Task("Write")], after=[first])]
        await Ensemble("E", phases=phases).run("about frogs", context=over(model))
        assert "about frogs" in prompt_of(model, 0)
        assert "about frogs" not in prompt_of(model, 1)


class TestConditions:
    async def test_the_condition_of_a_task_sees_the_outputs_of_earlier_phases(self) -> None:
        one = Phase("one", [Task("a", handler=join)])
        unless = Task("b", handler=join, when=lambda known: known["a"].raw != "a()")
        result = await Ensemble("E", phases=[one, Phase("two", [unless], after=[one])]).run(context=over())
        assert (result.output, list(result.skipped)) == (None, ["b"])
        assert list(result.phase_outputs["two"].skipped) == ["b"]

    async def test_a_skipped_task_of_an_earlier_phase_is_no_context(self) -> None:
        skipped = Task("a", handler=join, when=lambda known: False)
        one, two = Phase("one", [skipped]), Phase("two", [Task("b", handler=join)])
        three = Phase("three", [Task("c", handler=join)], after=[one, two])
        assert (await Ensemble("E", phases=[one, two, three]).run(context=over())).raw == "c(b())"

    async def test_a_phase_without_outputs_is_not_reviewed(self) -> None:
        phase = Phase("one", [Task("a", handler=join, when=lambda known: False)], review=PhaseReview(fail))
        result = await Ensemble("E", phases=[phase]).run(context=over())
        assert result.phase_outputs["one"].review.attempts == 0

    async def test_a_reviewer_with_a_condition_that_does_not_hold_lets_the_phase_pass(self) -> None:
        reviewer = Task("Review", handler=fail, when=lambda known: "b" in known)
        phase = Phase("one", [Task("a", handler=join)], review=PhaseReview(reviewer))
        assert (await Ensemble("E", phases=[phase]).run(context=over())).raw == "a()"


class TestFailures:
    async def test_a_failed_phase_skips_its_transitive_dependents_only(self) -> None:
        bad = Phase("bad", [Task("b1", handler=fail), Task("b2", handler=join)])
        next_one = Phase("next", [Task("n", handler=join)], after=[bad])
        last = Phase("last", [Task("l", handler=join)], after=[next_one])
        good = Phase("good", [Task("g", handler=join)])
        beside = Phase("beside", [Task("s", handler=join)], after=[good])
        with pytest.raises(TaskFailedError, match=r"phase 'bad'.*gone") as caught:
            await Ensemble("E", phases=[bad, next_one, last, good, beside]).run(context=over())
        error = caught.value
        assert sorted(error.completed) == ["g", "s"]
        assert list(error.failed) == ["b1"]
        assert error.skipped["n"] == error.skipped["l"] == "the phase 'bad' before it failed"
        assert "b2" in error.skipped
        assert isinstance(error.result, EnsembleResult)
        assert sorted(error.result.phase_outputs) == ["beside", "good"]

    async def test_events_tell_of_phases(self) -> None:
        heard: list[Event] = []
        one = Phase("one", [Task("a", handler=join)], review=PhaseReview(approve_all))
        two = Phase("two", [Task("b", handler=fail)], after=[one])
        with pytest.raises(TaskFailedError):
            await Ensemble("E", phases=[one, two]).run(context=over(listener=heard.append))
        told = [one for one in heard if isinstance(one, PhaseStarted | PhaseReviewed | PhaseCompleted | PhaseFailed)]
        assert [type(event).__name__ for event in told] == [
            "PhaseStarted", "PhaseReviewed", "PhaseCompleted", "PhaseStarted", "PhaseFailed"
        ]  # fmt: skip
        assert [event.describe().split(",")[0] for event in told[:2]] == ["phase 'one' starts", "phase 'one'"]
        assert "gone" in told[-1].describe()


class TestChecks:
    def test_phases_and_tasks_cannot_be_mixed(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="the ensemble has tasks too"):
            Ensemble("E", [Task("a")], phases=[Phase("one", [Task("b")])])

    def test_a_task_of_a_phase_cannot_review_it(self) -> None:
        task = Task("a", handler=approve_all)
        with pytest.raises(EnsembleDefinitionError, match="it is the task 'a' of the phase") as caught:
            Phase("one", [task], review=PhaseReview(task))
        assert places_of(caught.value.problems) == ["review.reviewer"]

    def test_a_phase_cannot_be_hierarchical(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="a phase has no manager"):
            Phase("one", [Task("a")], workflow=Workflow.HIERARCHICAL)
        with pytest.raises(EnsembleDefinitionError, match="phases have no manager"):
            Ensemble("E", phases=[Phase("one", [Task("a")])], workflow=Workflow.HIERARCHICAL)

    def test_all_mistakes_of_a_phase_are_listed_at_once(self) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            Phase(" ", [], after=["one"], review="good")  # type: ignore[list-item, arg-type]
        assert places_of(caught.value.problems) == ["name", "tasks", "after[0]", "review"]

    @pytest.mark.parametrize("name", ["a: b", "a\nb", "x" * 81])
    def test_a_name_that_a_decision_could_not_name_is_refused(self, name: str) -> None:
        with pytest.raises(EnsembleDefinitionError, match="name"):
            Phase(name, [Task("a")])

    def test_all_mistakes_of_a_review_are_listed_at_once(self) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            PhaseReview("good", max_retries=-1, max_predecessor_retries=-1)  # type: ignore[arg-type]
        assert places_of(caught.value.problems) == ["reviewer", "max_retries", "max_predecessor_retries"]
        with pytest.raises(EnsembleDefinitionError) as caught:
            PhaseReview.by_person(" ", timeout=-1, on_timeout="retry")  # type: ignore[arg-type]
        assert places_of(caught.value.problems) == ["role", "timeout", "on_timeout"]
        with pytest.raises(EnsembleDefinitionError, match="is not PhaseDecision"):
            PhaseReview(Task("Review", output_type=int))

    async def test_all_mistakes_of_an_ensemble_are_listed_with_their_places(self) -> None:
        stranger, other = Phase("stranger", [Task("s")]), Task("other")
        one = Phase("one", [Task("a {x}"), Task("a {x}", context=[other])], after=[stranger])
        two = Phase("one", [Task("a {x}")], review=PhaseReview(Task("Review {y}", context=[other])))
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", phases=[one, two]).check(context=over(ScriptedModel()))
        assert places_of(caught.value.problems) == [
            "phases[0].name", "phases[1].name",
            "phases[0].tasks[0].id", "phases[0].tasks[1].id", "phases[1].tasks[0].id",
            "phases[0].after[0]", "phases[0].tasks[1].context[0]", "phases[1].review.reviewer.context[0]",
            "phases[0].tasks[0].description", "phases[0].tasks[1].description", "phases[1].tasks[0].description",
            "phases[1].review.reviewer.description",
        ]  # fmt: skip

    async def test_a_context_in_a_phase_that_does_not_run_before_is_a_mistake(self) -> None:
        later = Task("later", handler=join)
        one = Phase("one", [Task("a", context=[later], handler=join)])
        two = Phase("two", [later])
        with pytest.raises(EnsembleDefinitionError, match="add its phase to `after`"):
            await Ensemble("E", phases=[one, two]).check()

    async def test_a_model_of_a_reviewer_that_nobody_serves_is_a_mistake(self) -> None:
        phase = Phase("one", [Task("a", handler=join)], review=PhaseReview(Task("Review", model="no-such-model")))
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", phases=[phase]).check()
        assert places_of(caught.value.problems) == ["phases[0].review.reviewer.model"]

    def test_a_drawing_shows_the_tasks_of_all_phases(self) -> None:
        one = Phase("one", [Task("gather", handler=join), Task("verify", handler=join)])
        two = Phase("two", [Task("draft", handler=join)], after=[one])
        drawing = Ensemble("E", phases=[one, two]).to_mermaid()
        assert "task_0 --> task_1" in drawing
        assert "task_1 --> task_2" in drawing
        assert "task_0 --> task_2" not in drawing

    def test_reviewers_are_part_of_the_composition(self) -> None:
        phase = Phase("one", [Task("Draft it")], review=PhaseReview(Task("Check it", role="Critic")))
        assert [member.role for member in Ensemble("E", phases=[phase]).composition] == ["Draft it", "Check it"]
