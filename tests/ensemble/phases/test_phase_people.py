"""People who decide on phases: the run waits for days, and is answered anywhere."""

from __future__ import annotations

import pytest

from tactician import (
    Agent,
    Ensemble,
    Phase,
    PhaseDecision,
    PhaseReview,
    Platform,
    Review,
    ReviewDecision,
    RunStatus,
    Task,
    approve,
    reject,
)
from tactician.ensemble import (
    AskPerson,
    EnsembleResult,
    ExitReason,
    PhaseReviewed,
    PhaseReviewError,
    PhaseStarted,
    TaskInput,
)
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.errors import ResponseError
from tactician.events import Event
from tactician.runs import PendingRequest, RequestAnswered, RunContext
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.ensemble.support import over
from tests.support.stored import JsonStore


class Drafts:
    """Handler that counts its drafts."""

    def __init__(self) -> None:
        self.inputs: list[TaskInput] = []

    def __call__(self, task: TaskInput) -> str:
        self.inputs.append(task)
        return f"draft {len(self.inputs)}"


def reviewed(
    drafts: Drafts, review: PhaseReview, after: Drafts | None = None, reviewer: Reviewer | None = None
) -> Ensemble:
    """Return an ensemble with a draft that somebody decides on, and a phase after it."""
    draft = Phase("draft", [Task("Draft", handler=drafts)], review=review)
    publish = Phase("publish", [Task("Publish", handler=after or (lambda t: t.context_outputs[0].raw))], after=[draft])
    return Ensemble("E", phases=[draft, publish], reviewer=reviewer)


async def answer(ensemble: Ensemble, waiting: EnsembleResult, answer: object, context: RunContext) -> EnsembleResult:
    """Answer the only request of a run."""
    assert waiting.status is RunStatus.WAITING
    (request,) = waiting.pending
    return await ensemble.resume(waiting.run_id, {request.id: answer}, context=context)


async def test_the_run_waits_and_shows_the_outputs_of_the_phase() -> None:
    drafts, later = Drafts(), Drafts()
    review = PhaseReview.by_person("editor", prompt="Good enough?")
    waiting = await reviewed(drafts, review, later).run(context=over())
    (request,) = waiting.pending
    assert request.prompt == "Good enough?\n\n### (deterministic): Draft\n\ndraft 1"
    assert (request.kind, request.required_role, request.deadline) == ("form", "editor", None)
    assert request.schema is not None
    assert "verdict" in str(request.schema["properties"])
    assert (len(drafts.inputs), later.inputs) == (1, [])


@pytest.mark.parametrize(
    "said", [PhaseDecision.approve(), "APPROVE", {"verdict": "approve"}, approve()], ids=lambda said: str(said)[:20]
)
async def test_an_approval_lets_the_run_continue(said: object) -> None:
    ensemble, context = reviewed(Drafts(), PhaseReview.by_person()), over()
    result = await answer(ensemble, await ensemble.run(context=context), said, context)
    assert (result.raw, result.phase_outputs["draft"].review.decision) == ("draft 1", PhaseDecision.approve())


@pytest.mark.parametrize("said", [PhaseDecision.retry("shorter"), "RETRY: shorter"])
async def test_a_retry_runs_the_phase_again_with_the_feedback_and_asks_again(said: object) -> None:
    drafts = Drafts()
    ensemble, context = reviewed(drafts, PhaseReview.by_person()), over()
    waiting = await ensemble.run(context=context)
    again = await answer(ensemble, waiting, said, context)
    assert again.pending[0].id != waiting.pending[0].id
    assert "draft 2" in again.pending[0].prompt
    revision = drafts.inputs[1].revision
    assert revision is not None
    assert (revision.attempt, revision.feedback, revision.previous) == (2, "shorter", "draft 1")
    assert (await answer(ensemble, again, "APPROVE", context)).raw == "draft 2"


@pytest.mark.parametrize("said", [PhaseDecision.reject("made up"), "REJECT: made up", reject("made up")])
async def test_a_rejection_fails_the_run(said: object) -> None:
    ensemble, context = reviewed(Drafts(), PhaseReview.by_person()), over()
    waiting = await ensemble.run(context=context)
    with pytest.raises(PhaseReviewError, match="made up"):
        await answer(ensemble, waiting, said, context)


@pytest.mark.parametrize("said", ["fine", {"verdict": "retry"}, 7, "RETRY_PREDECESSOR: more"])
async def test_an_answer_that_is_no_decision_is_refused_and_the_run_waits_on(said: object) -> None:
    drafts = Drafts()
    ensemble, context = reviewed(drafts, PhaseReview.by_person()), over()
    still = await answer(ensemble, await ensemble.run(context=context), said, context)
    (request,) = still.pending
    assert request.problem
    assert (await answer(ensemble, still, "APPROVE", context)).raw == "draft 1"
    assert len(drafts.inputs) == 1


async def test_a_person_can_let_a_phase_before_run_again() -> None:
    drafts = Drafts()
    first = Phase("first", [Task("a", handler=drafts)])
    second = Phase(
        "second", [Task("b", handler=lambda t: t.context_outputs[0].raw)], after=[first], review=PhaseReview.by_person()
    )
    ensemble, context = Ensemble("E", phases=[first, second]), over()
    again = await answer(ensemble, await ensemble.run(context=context), "RETRY_PREDECESSOR: more", context)
    assert (await answer(ensemble, again, "APPROVE", context)).raw == "draft 2"


class TestDeadlines:
    @pytest.mark.parametrize("seconds", [None, 0])
    async def test_without_a_timeout_the_run_waits_for_ever(self, seconds: float | None) -> None:
        waiting = await reviewed(Drafts(), PhaseReview.by_person(timeout=seconds)).run(context=over())
        assert waiting.pending[0].deadline is None

    async def test_after_it_the_default_counts_and_rejects(self) -> None:
        clock, store = FakeClock(), JsonStore()
        ensemble = reviewed(Drafts(), PhaseReview.by_person(timeout=60))
        context = RunContext.over(ScriptedModel(), store=store, clock=clock)
        waiting = await ensemble.run(context=context)
        clock.advance(61)
        with pytest.raises(PhaseReviewError, match="nobody has decided within 60 seconds"):
            await ensemble.resume(waiting.run_id, {}, context=context)

    async def test_it_approves_when_that_is_what_on_timeout_says(self) -> None:
        clock = FakeClock()
        ensemble = reviewed(Drafts(), PhaseReview.by_person(timeout=60, on_timeout="continue"))
        context = RunContext.over(ScriptedModel(), clock=clock)
        waiting = await ensemble.run(context=context)
        clock.advance(61)
        assert (await ensemble.resume(waiting.run_id, {}, context=context)).raw == "draft 1"


class TestPlatform:
    async def test_days_later_another_process_takes_the_decision_of_somebody_with_the_role(self) -> None:
        store, drafts = JsonStore(), Drafts()
        review = PhaseReview.by_person("editor")
        first = Platform(models=ScriptedModel(), store=store).register(reviewed(drafts, review))
        waiting = await first.find_agent("E").run(None, context=first.context())
        (request,) = waiting.pending
        second = Platform(models=ScriptedModel(), store=store).register(reviewed(drafts, review))
        result = await second.respond(
            waiting.run_id, request.id, PhaseDecision.retry("shorter"), role="editor", by="Ann"
        )
        assert isinstance(result, EnsembleResult)
        assert result.status is RunStatus.WAITING
        done = await first.respond(
            waiting.run_id, result.pending[0].id, PhaseDecision.approve(), role="editor", by="Ann"
        )
        assert isinstance(done, EnsembleResult)
        assert (done.raw, len(drafts.inputs)) == ("draft 2", 2)
        assert done.phase_outputs["draft"].review.attempts == 2

    async def test_an_answer_without_the_role_is_refused(self) -> None:
        platform = Platform(models=ScriptedModel()).register(reviewed(Drafts(), PhaseReview.by_person("editor")))
        waiting = await platform.find_agent("E").run(None, context=platform.context())
        (request,) = waiting.pending
        with pytest.raises(ResponseError, match="editor"):
            await platform.respond(waiting.run_id, request.id, PhaseDecision.approve(), role="writer")

    async def test_the_name_of_whoever_decided_is_in_the_record_and_in_the_event(self) -> None:
        events: list[Event] = []
        platform = Platform(models=ScriptedModel(), on_event=events.append)
        platform.register(reviewed(Drafts(), PhaseReview.by_person("editor")))
        waiting = await platform.find_agent("E").run(None, context=platform.context())
        (request,) = waiting.pending
        again = await platform.respond(waiting.run_id, request.id, "RETRY: shorter", role="editor", by="Ann")
        assert isinstance(again, EnsembleResult)
        done = await platform.respond(waiting.run_id, again.pending[0].id, "APPROVE", role="editor")
        assert isinstance(done, EnsembleResult)
        assert [attempt.by for attempt in done.phase_outputs["draft"].review.history] == ["Ann", None]
        assert [event.by for event in events if isinstance(event, PhaseReviewed)] == ["Ann", None]
        assert [event.by for event in events if isinstance(event, RequestAnswered)] == ["Ann", None]


class Editor:
    """Reviewer of the program, who gives these answers."""

    role = "editor"
    name = "Ann"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.requests: list[PendingRequest] = []

    async def __call__(self, request: PendingRequest) -> object:
        """Return the next answer."""
        self.requests.append(request)
        return self.answers.pop(0)


class TestReviewer:
    """The reviewer of the ensemble answers for people who review phases, as it does for tasks."""

    async def test_it_decides_without_a_pause(self) -> None:
        editor = Editor("RETRY: shorter", PhaseDecision.approve())
        result = await reviewed(Drafts(), PhaseReview.by_person("editor"), reviewer=editor).run(context=over())
        history = result.phase_outputs["draft"].review.history
        assert [(attempt.decision.verdict, attempt.by) for attempt in history] == [("retry", "Ann"), ("approve", "Ann")]
        assert result.raw == "draft 2"

    async def test_the_run_waits_for_another_when_it_does_not_decide(self) -> None:
        ensemble = reviewed(Drafts(), PhaseReview.by_person(), reviewer=Editor(None))
        assert (await ensemble.run(context=over())).status is RunStatus.WAITING

    async def test_it_is_not_asked_without_the_role(self) -> None:
        editor = Editor()
        ensemble = reviewed(Drafts(), PhaseReview.by_person("publisher"), reviewer=editor)
        assert (await ensemble.run(context=over())).status is RunStatus.WAITING
        assert editor.requests == []

    async def test_it_is_told_what_is_wrong_and_asked_again(self) -> None:
        editor = Editor("fine", "APPROVE")
        result = await reviewed(Drafts(), PhaseReview.by_person(), reviewer=editor).run(context=over())
        assert result.raw == "draft 1"
        assert "no decision" in str(editor.requests[1].problem)

    async def test_it_answers_what_the_reviewing_agent_asks(self) -> None:
        model = ScriptedModel(ToolCall("ask_person", question="Is it true?"), PhaseDecision.approve())
        review = PhaseReview(Task("Review", agent=Agent("Checker", model=model, tools=[AskPerson()])))
        result = await reviewed(Drafts(), review, reviewer=Editor("It is.")).run(context=over())
        assert result.raw == "draft 1"
        assert "It is." in model.calls[1].prompt


async def test_nobody_in_time_may_end_the_ensemble_with_the_outputs_so_far() -> None:
    clock, later = FakeClock(), Drafts()
    ensemble = reviewed(Drafts(), PhaseReview.by_person(timeout=60, on_timeout="exit_early"), later)
    context = RunContext.over(ScriptedModel(), clock=clock)
    waiting = await ensemble.run(context=context)
    clock.advance(61)
    result = await ensemble.resume(waiting.run_id, {}, context=context)
    assert (result.raw, result.exit_reason, later.inputs) == ("draft 1", ExitReason.TIMEOUT, [])


async def test_a_phase_that_an_early_exit_keeps_from_beginning_is_neither_started_nor_completed() -> None:
    heard: list[Event] = []
    first = Phase("first", [Task("a", handler=lambda _: "A")])
    gated = Phase("gated", [Task("b", handler=lambda _: "B", review=Review.before())], after=[first])
    last = Phase("last", [Task("c", handler=lambda _: "C")], after=[gated])
    phases = [first, gated, last]
    ensemble = Ensemble("E", phases=phases, reviewer=lambda _: ReviewDecision.exit_early(), listeners=[heard.append])
    result = await ensemble.run(context=over())
    assert (result.raw, result.exit_reason, list(result.phase_outputs)) == ("A", ExitReason.EXIT_EARLY, ["first"])
    assert result.skipped == dict.fromkeys("bc", "a review has ended the ensemble")
    assert [event.phase for event in heard if isinstance(event, PhaseStarted)] == ["first", "gated"]


async def test_what_the_clock_would_answer_is_no_answer_before_the_deadline() -> None:
    ensemble, context = reviewed(Drafts(), PhaseReview.by_person(timeout=60, on_timeout="continue")), over()
    waiting = await ensemble.run(context=context)
    still = await answer(ensemble, waiting, waiting.pending[0].default, context)
    assert (still.status, still.pending[0].problem) == (RunStatus.WAITING, "the deadline has not passed")
