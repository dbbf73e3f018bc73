"""Reviews of phases: what the post on phase review says, and the decisions of the notes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tactician import (
    Agent,
    Ensemble,
    Loop,
    Phase,
    PhaseDecision,
    PhaseReview,
    Review,
    ReviewDecision,
    Task,
    Workflow,
    runnable,
)
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    PhaseReviewed,
    PhaseReviewError,
    TaskFailed,
    TaskFailedError,
    TaskInput,
    TaskStarted,
)
from tactician.ensemble.tasks.task import TaskLike
from tactician.events import Event
from tactician.runs import PendingRequest
from tactician.testing import ScriptedModel
from tests.ensemble.support import durable, over, prompt_of

FEEDBACK = "The report is missing Q3 comparisons. Expand the analysis section with specific numbers."


class Scripted:
    """Handler that answers from a list, and keeps what it was given."""

    def __init__(self, *answers: str | PhaseDecision | Callable[[TaskInput], str]) -> None:
        self.answers = answers
        self.inputs: list[TaskInput] = []

    def __call__(self, task: TaskInput) -> str | PhaseDecision:
        self.inputs.append(task)
        answer = self.answers[min(len(self.inputs), len(self.answers)) - 1]
        return answer(task) if callable(answer) else answer


def see(task: TaskInput) -> str:
    """Return the output that a task sees."""
    return task.context_outputs[0].raw


def ask_once(why: str) -> PhaseReview:
    """Return a review that asks for the predecessor once."""
    return PhaseReview(Scripted(f"RETRY_PREDECESSOR: {why}", "APPROVE"))


async def run_alone(
    task: Task, review: PhaseReview, model: ScriptedModel | None = None, heard: list[Event] | None = None
) -> EnsembleResult:
    """Run an ensemble with one phase of one task."""
    listener = None if heard is None else heard.append
    return await Ensemble("E", phases=[Phase("p", [task], review=review)]).run(context=over(model, listener))


class TestAttachingAReview:
    """Attaching a Review to a Phase."""

    async def test_the_framework_runs_the_reviewer_after_the_tasks_and_acts_on_its_decision(self) -> None:
        heard: list[Event] = []
        model = ScriptedModel("Q2 went well.", f"RETRY:{FEEDBACK}", "Q3 went better.", "APPROVE")
        draft = Task("draft a summary report of the quarterly results", id="draft")
        review = Task("Review the report for completeness and accuracy.", id="review", context=[draft])
        result = await run_alone(draft, PhaseReview(review), model, heard)
        assert result.raw == "Q3 went better."
        started = [event.task_id for event in heard if isinstance(event, TaskStarted)]
        assert started == ["draft", "review", "draft", "review"]

    async def test_the_review_task_reads_the_draft_by_its_context(self) -> None:
        model = ScriptedModel("Q2 went well.", "APPROVE")
        draft = Task("Draft it")
        await run_alone(draft, PhaseReview(Task("Review it", context=[draft])), model)
        assert "### Writer: Draft it\n\nQ2 went well." in prompt_of(model, 1)

    async def test_a_review_task_that_names_no_context_reads_all_tasks_of_the_phase(self) -> None:
        reviewer = Scripted("APPROVE")
        tasks = [Task("a", handler=lambda t: "A"), Task("b", handler=lambda t: "B")]
        phase = Phase("p", tasks, review=PhaseReview(Task("Review", handler=reviewer)))
        await Ensemble("E", phases=[phase]).run(context=over())
        assert [output.raw for output in reviewer.inputs[0].context_outputs] == ["A", "B"]

    async def test_the_reviewer_never_appears_in_the_task_list_of_the_phase(self) -> None:
        result = await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Scripted("APPROVE")))
        assert [output.task_id for output in result.task_outputs] == ["a"]
        assert [output.task_id for output in result.phase_outputs["p"].task_outputs] == ["a"]


class TestDecisions:
    """The four decisions."""

    async def test_approve_accepts_the_output_and_the_pipeline_continues(self) -> None:
        first = Phase("first", [Task("a", handler=lambda t: "A")], review=PhaseReview(Scripted("APPROVE")))
        second = Phase("second", [Task("b", handler=lambda t: f"{t.context_outputs[0].raw}B")], after=[first])
        result = await Ensemble("E", phases=[first, second]).run(context=over())
        assert result.raw == "AB"

    async def test_retry_runs_the_tasks_of_the_phase_again(self) -> None:
        one, two = Scripted("1", "2"), Scripted("x", "y")
        phase = Phase(
            "p",
            [Task("a", handler=one), Task("b", handler=two)],
            review=PhaseReview(Scripted("RETRY: more", "APPROVE")),
        )
        result = await Ensemble("E", phases=[phase]).run(context=over())
        assert (len(one.inputs), len(two.inputs), result["a"].raw, result["b"].raw) == (2, 2, "2", "y")
        assert two.inputs[1].context_outputs[0].raw == "2"

    async def test_retry_predecessor_runs_the_phase_before_first_and_then_this_one(self) -> None:
        ingest, analyse = Scripted("raw data", "clean data"), Scripted(lambda t: f"from {t.context_outputs[0].raw}")
        reviewer = Scripted("RETRY_PREDECESSOR: the data is dirty", "APPROVE")
        ingestion = Phase("ingestion", [Task("ingest", handler=ingest)])
        analysis = Phase(
            "analysis", [Task("analyse", handler=analyse)], after=[ingestion], review=PhaseReview(reviewer)
        )
        result = await Ensemble("E", phases=[ingestion, analysis]).run(context=over())
        assert result.raw == "from clean data"
        assert result["ingest"].raw == result.phase_outputs["ingestion"].raw == "clean data"
        revision = ingest.inputs[1].revision
        assert revision is not None
        assert (revision.attempt, revision.feedback, revision.previous) == (2, "the data is dirty", "raw data")
        assert [task.revision for task in analyse.inputs] == [None, None]

    async def test_a_rejected_phase_fails_although_another_review_has_ended_the_ensemble(self) -> None:
        has_ended = asyncio.Event()

        async def reject(task: TaskInput) -> str:
            await has_ended.wait()
            return "REJECT: made up"

        def end(request: PendingRequest) -> ReviewDecision:
            has_ended.set()
            return ReviewDecision.exit_early()

        bad = Phase("bad", [Task("a", handler=Scripted("A"))], review=PhaseReview(reject))
        other = Phase("other", [Task("b", handler=Scripted("B"), review=Review.after())])
        with pytest.raises(PhaseReviewError, match="rejected it: made up"):
            await Ensemble("E", phases=[bad, other], reviewer=end).run(context=over())

    async def test_reject_fails_the_pipeline(self) -> None:
        later = Scripted("never")
        phase = Phase("p", [Task("a", handler=lambda t: "A")], review=PhaseReview(Scripted("REJECT: made up")))
        after = Phase("after", [Task("b", handler=later)], after=[phase])
        with pytest.raises(PhaseReviewError, match="its review rejected it: made up") as caught:
            await Ensemble("E", phases=[phase, after]).run(context=over())
        error = caught.value
        assert (error.phase, error.feedback, error.completed["a"].raw) == ("p", "made up", "A")
        assert error.skipped == {"b": "the phase 'p' before it failed"}
        assert error.review.decision == PhaseDecision.reject("made up")
        assert later.inputs == []


class TestFeedback:
    """Feedback injection."""

    async def test_the_task_sees_its_instructions_the_feedback_and_its_prior_output(self) -> None:
        model = ScriptedModel("Q2 went well.", "Q3 went better.")
        draft = Task("Draft the report", expected_output="Two pages")
        await run_alone(draft, PhaseReview(Scripted(f"RETRY:{FEEDBACK}", "APPROVE")), model)
        assert prompt_of(model, 1) == (
            "## Revision Instructions (Attempt 2)\n\n"
            f"### Feedback\n\n{FEEDBACK}\n\n"
            "### Previous Output\n\nQ2 went well.\n\n"
            "## Task\n\nDraft the report\n\n## Expected Output\n\nTwo pages"
        )

    async def test_the_first_attempt_has_no_such_section(self) -> None:
        model = ScriptedModel("Q2 went well.")
        await run_alone(Task("Draft"), PhaseReview(Scripted("APPROVE")), model)
        assert "Revision" not in prompt_of(model)

    async def test_the_third_attempt_has_its_number_the_latest_feedback_and_the_most_recent_output(self) -> None:
        model = ScriptedModel("one", "two", "three")
        await run_alone(Task("Draft"), PhaseReview(Scripted("RETRY: first", "RETRY: second", "APPROVE")), model)
        prompt = prompt_of(model, 2)
        assert prompt.startswith(
            "## Revision Instructions (Attempt 3)\n\n### Feedback\n\nsecond\n\n### Previous Output\n\ntwo"
        )
        assert "first" not in prompt
        assert "one" not in prompt

    async def test_each_task_of_the_phase_gets_its_own_previous_output(self) -> None:
        one, two = Scripted("1"), Scripted("2")
        tasks = [Task("a", handler=one), Task("b", handler=two)]
        phase = Phase("p", tasks, workflow=Workflow.PARALLEL, review=PhaseReview(Scripted("RETRY: more", "APPROVE")))
        await Ensemble("E", phases=[phase]).run(context=over())
        revisions = [one.inputs[1].revision, two.inputs[1].revision]
        assert [revision and revision.previous for revision in revisions] == ["1", "2"]

    async def test_the_definition_of_the_task_is_not_changed(self) -> None:
        draft = Task("Draft", handler=lambda t: "A")
        await run_alone(draft, PhaseReview(Scripted("RETRY: more", "APPROVE")))
        assert (draft.description, draft.context, draft.expected_output) == ("Draft", None, "")


class TestReviewers:
    """Reviewer types."""

    async def test_an_ai_reviewer_may_use_a_different_model(self) -> None:
        writer, critic = ScriptedModel("A report."), ScriptedModel("APPROVE")
        await run_alone(Task("Draft", model=writer), PhaseReview(Task("Review", model=critic)))
        assert (len(writer.calls), len(critic.calls)) == (1, 1)

    async def test_an_ai_reviewer_decides_by_a_typed_answer(self) -> None:
        critic = ScriptedModel(PhaseDecision.retry("too short"), PhaseDecision.approve())
        result = await run_alone(Task("Draft", handler=lambda t: "A"), PhaseReview(Task("Review", model=critic)))
        record = result.phase_outputs["p"].review
        assert [attempt.decision for attempt in record.history] == [
            PhaseDecision.retry("too short"),
            PhaseDecision.approve(),
        ]
        assert '"retry_predecessor"' in prompt_of(critic)

    async def test_a_deterministic_reviewer_reads_the_output_and_returns_a_decision_as_text(self) -> None:
        def check(task: TaskInput) -> str:
            output = task.context_outputs[0].raw
            return "APPROVE" if "Q3" in output and "Q4" in output else "RETRY: report must include both Q3 and Q4 data"

        report = Scripted("Q3 only", "Q3 and Q4")
        result = await run_alone(Task("report", handler=report), PhaseReview(Task("check", handler=check)))
        assert (result.raw, len(report.inputs)) == ("Q3 and Q4", 2)

    async def test_a_function_returns_text_or_a_decision_and_may_be_async(self) -> None:
        async def check(task: TaskInput) -> PhaseDecision:
            return PhaseDecision.approve() if task.context_outputs[0].raw == "2" else PhaseDecision.retry("count on")

        result = await run_alone(Task("count", handler=Scripted("1", "2")), PhaseReview(check))
        assert result.raw == "2"

    async def test_any_runnable_can_review(self) -> None:
        @runnable
        async def critic(text: str) -> str:
            return "APPROVE" if "\n\nA\n\n" in text else "REJECT: it lacks the output"

        assert (await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Task("Review", agent=critic)))).raw == "A"

    @pytest.mark.parametrize(
        "make",
        [lambda check: Loop([check], max_iterations=1), lambda check: Ensemble("Review", [check])],
        ids=["loop", "ensemble"],
    )
    async def test_what_fits_in_the_place_of_a_task_can_review(self, make: Callable[[Task], TaskLike]) -> None:
        handler = Scripted("RETRY: fix it", "what", "RETRY: once more", "APPROVE")
        context = durable()
        review = PhaseReview(make(Task("Check", handler=handler)))
        ensemble = Ensemble("E", phases=[Phase("p", [Task("a", handler=Scripted("1", "2", "3"))], review=review)])
        result = await ensemble.run(context=context)
        assert [str(attempt.decision) for attempt in result.phase_outputs["p"].review.history] == [
            "RETRY: fix it", "RETRY: once more", "APPROVE"
        ]  # fmt: skip
        assert [see(task) for task in handler.inputs] == ["1", "2", "2", "3"]

    async def test_a_loop_without_a_decision_fails_the_phase(self) -> None:
        review = PhaseReview(Loop([Task("Check", handler=Scripted("what"))], max_iterations=1))
        with pytest.raises(PhaseReviewError, match="'what' is no decision"):
            await run_alone(Task("a", handler=Scripted("A")), review)

    async def test_a_decision_that_does_not_exist_fails_the_phase(self) -> None:
        reviewer = Scripted(lambda task: PhaseDecision("redo", "again"))  # type: ignore[arg-type, return-value]
        with pytest.raises(PhaseReviewError, match="the verdict 'redo' is not one of"):
            await run_alone(Task("a", handler=Scripted("A")), PhaseReview(reviewer))
        assert len(reviewer.inputs) == 1

    async def test_a_reviewer_that_raises_fails_the_phase(self) -> None:
        def check(task: TaskInput) -> str:
            raise ConnectionError("no network")

        with pytest.raises(PhaseReviewError, match=r"its review failed.*no network") as caught:
            await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Task("Review", id="check", handler=check)))
        assert list(caught.value.failed) == ["check"]
        assert caught.value.completed["a"].raw == "A"


class TestTextThatIsNoDecision:
    async def test_an_agent_is_asked_once_more(self) -> None:
        critic = ScriptedModel("Looks fine to me.", "APPROVE")
        result = await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Task("Review", model=critic)))
        assert (result.raw, len(critic.calls)) == ("A", 2)

    async def test_then_the_review_fails(self) -> None:
        critic = ScriptedModel("Looks fine to me.", "Yes, approved.", "APPROVE")
        with pytest.raises(PhaseReviewError) as caught:
            await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Task("Review", model=critic)))
        assert (len(critic.calls), caught.value.completed["a"].raw) == (2, "A")
        assert caught.value.review.decision is None

    async def test_a_function_is_called_once_more_and_reads_why(self) -> None:
        reviewer = Scripted("good", "APPROVE")
        await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(reviewer))
        revision = reviewer.inputs[1].revision
        assert revision is not None
        assert "RETRY: <feedback>" in revision.feedback
        assert revision.previous == "good"

    @pytest.mark.parametrize(
        "text", ["", "good", "APPROVE it", "RETRY", "RETRY:", "REJECT: ", "RETRY part: x", "maybe"]
    )
    async def test_no_text_approves_by_accident(self, text: str) -> None:
        with pytest.raises(PhaseReviewError, match="is no decision"):
            await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Scripted(text)))


class TestRetryLimits:
    """Controlling retry limits."""

    async def test_by_default_there_are_two_retries(self) -> None:
        draft = Scripted("1", "2", "3", "4")
        result = await run_alone(Task("a", handler=draft), PhaseReview(Scripted("RETRY: 1", "RETRY: 2", "APPROVE")))
        assert (result.raw, len(draft.inputs)) == ("3", 3)
        with pytest.raises(PhaseReviewError, match="its limit of 2 retries is used up"):
            await run_alone(Task("a", handler=Scripted("1")), PhaseReview(Scripted("RETRY: more")))

    async def test_when_the_retries_are_used_up_the_phase_fails_and_no_output_is_accepted(self) -> None:
        draft, later = Scripted("1", "2", "3", "4"), Scripted("never")
        review = PhaseReview(Scripted("RETRY: less", "RETRY: some", "RETRY: more"))
        first = Phase("first", [Task("a", handler=draft)], review=review)
        second = Phase("second", [Task("b", handler=later)], after=[first])
        with pytest.raises(
            PhaseReviewError, match="its limit of 2 retries is used up; the last feedback: more"
        ) as caught:
            await Ensemble("E", phases=[first, second]).run(context=over())
        assert len(draft.inputs) == 3
        assert caught.value.completed["a"].raw == "3"
        assert (caught.value.feedback, caught.value.review.attempts) == ("more", 3)
        assert later.inputs == []

    @pytest.mark.parametrize("limit", [0, 1, 3])
    async def test_the_limit_can_be_set(self, limit: int) -> None:
        draft = Scripted("1")
        with pytest.raises(PhaseReviewError):
            await run_alone(Task("a", handler=draft), PhaseReview(Scripted("RETRY: more"), limit))
        assert len(draft.inputs) == limit + 1

    async def test_by_default_there_are_two_retries_of_each_predecessor(self) -> None:
        left, right = Scripted("l"), Scripted("r")
        phases = [Phase("left", [Task("l", handler=left)]), Phase("right", [Task("r", handler=right)])]
        answers = ["RETRY_PREDECESSOR left: x", "RETRY_PREDECESSOR right: x"] * 2 + ["RETRY_PREDECESSOR left: last"]
        last = Phase("last", [Task("a", handler=lambda t: "A")], after=phases, review=PhaseReview(Scripted(*answers)))
        with pytest.raises(
            PhaseReviewError, match=r"the limit of 2 retries of the phase before, 'left', is used up.*last"
        ) as caught:
            await Ensemble("E", phases=[*phases, last]).run(context=over())
        assert (len(left.inputs), len(right.inputs), caught.value.feedback) == (3, 3, "last")

    async def test_the_number_of_predecessor_retries_can_be_set(self) -> None:
        first = Phase("first", [Task("a", handler=Scripted("A"))])
        review = PhaseReview(Scripted("RETRY_PREDECESSOR: x"), max_predecessor_retries=0)
        second = Phase("second", [Task("b", handler=Scripted("B"))], after=[first], review=review)
        with pytest.raises(PhaseReviewError, match="the limit of 0 retries of the phase before, 'first', is used up"):
            await Ensemble("E", phases=[first, second]).run(context=over())


class TestPredecessors:
    """Predecessor retry."""

    async def test_the_review_fires_again_after_the_second_run_of_the_phase(self) -> None:
        heard: list[Event] = []
        first = Phase("ingestion", [Task("a", handler=Scripted("A"))])
        review = PhaseReview(Scripted("RETRY_PREDECESSOR: clean it", "APPROVE"))
        second = Phase("analysis", [Task("b", handler=Scripted("B"))], after=[first], review=review)
        await Ensemble("E", phases=[first, second]).run(context=over(listener=heard.append))
        told = [(event.phase, event.attempt, event.decision) for event in heard if isinstance(event, PhaseReviewed)]
        assert told == [("analysis", 1, "retry_predecessor"), ("analysis", 2, "approve")]

    async def test_it_runs_the_entire_predecessor_and_does_not_cascade_further_back(self) -> None:
        zero, one, two = Scripted("0"), Scripted("1"), Scripted("2")
        origin = Phase("origin", [Task("zero", handler=zero)])
        middle = Phase("middle", [Task("one", handler=one), Task("two", handler=two)], after=[origin])
        review = PhaseReview(Scripted("RETRY_PREDECESSOR: x", "APPROVE"))
        last = Phase("last", [Task("three", handler=Scripted("3"))], after=[middle], review=review)
        await Ensemble("E", phases=[origin, middle, last]).run(context=over())
        assert [len(handler.inputs) for handler in (zero, one, two)] == [1, 2, 2]

    async def test_it_resets_the_own_retries(self) -> None:
        first = Phase("first", [Task("a", handler=Scripted("A"))])
        answers = ["RETRY: 1", "RETRY_PREDECESSOR: 2", "RETRY: 3", "APPROVE"]
        again = Scripted("B")
        second = Phase("second", [Task("b", handler=again)], after=[first], review=PhaseReview(Scripted(*answers), 1))
        result = await Ensemble("E", phases=[first, second]).run(context=over())
        assert (len(again.inputs), result.phase_outputs["second"].review.attempts) == (4, 4)
        assert [task.revision and task.revision.feedback for task in again.inputs] == [None, "1", None, "3"]

    async def test_without_a_name_it_means_the_only_predecessor_and_with_several_it_is_an_error_that_lists_them(
        self,
    ) -> None:
        first = [Phase(name, [Task(name, handler=Scripted(name))]) for name in ("left", "right")]
        review = PhaseReview(Scripted("RETRY_PREDECESSOR: x"))
        last = Phase("last", [Task("a", handler=Scripted("A"))], after=first, review=review)
        with pytest.raises(PhaseReviewError, match=r"does not say which.*'left', 'right'"):
            await Ensemble("E", phases=[*first, last]).run(context=over())

    async def test_only_a_direct_predecessor_can_run_again(self) -> None:
        origin = Phase("origin", [Task("o", handler=Scripted("O"))])
        middle = Phase("middle", [Task("m", handler=Scripted("M"))], after=[origin])
        review = PhaseReview(Scripted("RETRY_PREDECESSOR origin: x"))
        last = Phase("last", [Task("l", handler=Scripted("L"))], after=[middle], review=review)
        with pytest.raises(PhaseReviewError, match=r"'origin' again, which is not right before it.*'middle'"):
            await Ensemble("E", phases=[origin, middle, last]).run(context=over())

    async def test_a_first_phase_has_no_predecessor(self) -> None:
        with pytest.raises(PhaseReviewError, match="Phases right before: none"):
            await run_alone(Task("a", handler=Scripted("A")), PhaseReview(Scripted("RETRY_PREDECESSOR: x")))

    async def test_the_review_of_the_predecessor_decides_on_its_new_output(self) -> None:
        writes = Scripted("1", "2", "3")
        gate = Scripted("APPROVE", "RETRY: still bad", "APPROVE")
        first = Phase("first", [Task("a", handler=writes)], review=PhaseReview(gate))
        review = PhaseReview(Scripted("RETRY_PREDECESSOR: bad", "APPROVE"))
        second = Phase(
            "second", [Task("b", handler=Scripted(lambda t: t.context_outputs[0].raw))], after=[first], review=review
        )
        result = await Ensemble("E", phases=[first, second]).run(context=over())
        assert (result.raw, result.phase_outputs["first"].review.attempts) == ("3", 3)
        assert [task.revision and task.revision.feedback for task in writes.inputs] == [None, "bad", "still bad"]

    async def test_two_phases_that_ask_for_the_same_predecessor_get_it_one_after_the_other(self) -> None:
        data = Scripted("1", "2", "3")
        first = Phase("first", [Task("data", handler=data)])

        def ask_once(why: str) -> PhaseReview:
            return PhaseReview(Scripted(f"RETRY_PREDECESSOR: {why}", "APPROVE"))

        left = Phase(
            "left",
            [Task("l", handler=Scripted(lambda t: t.context_outputs[0].raw))],
            after=[first],
            review=ask_once("l"),
        )
        right = Phase(
            "right",
            [Task("r", handler=Scripted(lambda t: t.context_outputs[0].raw))],
            after=[first],
            review=ask_once("r"),
        )
        result = await Ensemble("E", phases=[first, left, right]).run(context=over())
        assert sorted([result["l"].raw, result["r"].raw]) == ["2", "3"]
        assert result["data"].raw == "3"
        assert [task.revision and task.revision.previous for task in data.inputs] == [None, "1", "2"]

    async def test_a_predecessor_that_fails_when_it_runs_again_fails_the_phase_that_asked(self) -> None:
        def fail(task: TaskInput) -> str:
            raise LookupError("gone")

        first = Phase("first", [Task("a", handler=Scripted("A", fail))])
        beside = Phase("beside", [Task("c", handler=Scripted("C"))], after=[first])
        second = Phase(
            "second",
            [Task("b", handler=Scripted("B"))],
            after=[first],
            review=PhaseReview(Scripted("RETRY_PREDECESSOR: x")),
        )
        with pytest.raises(TaskFailedError, match="gone") as caught:
            await Ensemble("E", phases=[first, second, beside]).run(context=over())
        assert sorted(caught.value.completed) == ["a", "c"]
        assert list(caught.value.failed) == ["a"]


class TestResults:
    """Accessing review results."""

    async def test_the_number_of_attempts_and_the_final_decision_are_in_the_phase_output(self) -> None:
        result = await run_alone(Task("a", handler=Scripted("1", "2")), PhaseReview(Scripted("RETRY: more", "APPROVE")))
        record = result.phase_outputs["p"].review
        assert (record.attempts, record.decision) == (2, PhaseDecision.approve())
        assert [(one.number, one.raw) for one in record.history] == [(1, "1"), (2, "2")]

    async def test_a_phase_without_a_review_has_no_decisions(self) -> None:
        result = await Ensemble("E", phases=[Phase("p", [Task("a", handler=Scripted("A"))])]).run(context=over())
        record = result.phase_outputs["p"].review
        assert (record.attempts, record.decision) == (0, None)

    async def test_context_across_retries_is_the_output_of_the_most_recent_attempt(self) -> None:
        reviewer = Scripted("RETRY: x", "RETRY: y", "APPROVE")
        await run_alone(Task("a", handler=Scripted("1", "2", "3")), PhaseReview(reviewer))
        assert [task.context_outputs[0].raw for task in reviewer.inputs] == ["1", "2", "3"]

    async def test_outputs_of_earlier_attempts_are_not_in_the_result(self) -> None:
        result = await run_alone(Task("a", handler=Scripted("1", "2")), PhaseReview(Scripted("RETRY: x", "APPROVE")))
        assert [output.raw for output in result.task_outputs] == ["2"]

    async def test_the_usage_of_all_attempts_and_reviews_counts(self) -> None:
        model = ScriptedModel("1", "RETRY: x", "2", "APPROVE")
        result = await run_alone(Task("a"), PhaseReview(Task("Review")), model)
        assert result.usage.requests == 4

    async def test_one_ensemble_runs_many_times_at_once(self) -> None:
        def count(task: TaskInput) -> str:
            return f"{task.values['n']}.{1 if task.revision is None else task.revision.attempt}"

        def check(task: TaskInput) -> str:
            number, attempt = task.context_outputs[0].raw.split(".")
            return "APPROVE" if int(attempt) > int(number) % 3 else "RETRY: again"

        ensemble = Ensemble("E", phases=[Phase("p", [Task("a", handler=count)], review=PhaseReview(check))])
        results = await asyncio.gather(*(ensemble.run({"n": number}, context=over()) for number in range(50)))
        assert [result.raw for result in results] == [f"{number}.{number % 3 + 1}" for number in range(50)]


class TestEvents:
    async def test_text_that_is_no_decision_is_told_as_a_failed_task_of_the_reviewer(self) -> None:
        heard: list[Event] = []
        await run_alone(Task("a", handler=lambda t: "A"), PhaseReview(Scripted("hm", "APPROVE")), heard=heard)
        assert [event.task_id for event in heard if isinstance(event, TaskFailed)] == ["Review the phase 'p'"]


async def test_an_agent_with_another_output_type_cannot_review() -> None:
    agent = Agent(role="Critic", model=ScriptedModel(), output_type=int)
    phase = Phase("p", [Task("a", handler=Scripted("A"))], review=PhaseReview(Task("Review", agent=agent)))
    with pytest.raises(EnsembleDefinitionError, match="another output type"):
        await Ensemble("E", phases=[phase]).check()
