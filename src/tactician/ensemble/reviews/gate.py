"""Gates of a task: somebody decides before it runs, or about its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias, cast

from pydantic import JsonValue

from tactician.ensemble.reviews.consultation import PersonAnswer, PersonConsultation, Question
from tactician.ensemble.reviews.decision import ReviewDecision, decision_adapter, get_decision_schema, read_decision
from tactician.ensemble.reviews.events import ReviewDecided, ReviewRequested
from tactician.ensemble.reviews.review import OnTimeout, Review, ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.frozen import frozen
from tactician.loop.output import InvalidOutput
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import Response

GateTiming: TypeAlias = Literal["before", "after"]
_AFTER: Final = Review.after()


@frozen
class TimedOut:
    """Outcome of a gate at which nobody has decided in time."""

    action: OnTimeout


GateOutcome: TypeAlias = ReviewDecision | TimedOut


def find_gate(timing: GateTiming, reviews: Sequence[Review], policy: ReviewPolicy, *, is_last: bool) -> Review | None:
    """Return the gate of a task at a time; `None` when it has none.

    Args:
        timing: the time.
        reviews: the gates that the task itself names; they come before the policy.
        policy: the policy of the ensemble.
        is_last: true for the last task in the list.
    """
    if not reviews and policy is ReviewPolicy.NEVER:
        return None
    reviews_by_timing = {review.timing: review for review in reviews}
    if timing in reviews_by_timing:
        return reviews_by_timing[timing]
    if timing == "before" or "skip" in reviews_by_timing:
        return None
    is_meant = policy is ReviewPolicy.AFTER_EVERY_TASK or (policy is ReviewPolicy.AFTER_LAST_TASK and is_last)
    return _AFTER if is_meant else None


@frozen
class Gate:
    """Gate of a task in a run.

    Attributes:
        review: its settings.
        task_id: the id of the task.
        subject: the task, or its output, as text for the reviewer.
        check_edit: function that raises `InvalidOutput` for a new output that is not valid.
        reviewer: the reviewer of the ensemble.
    """

    review: Review
    task_id: str
    subject: str
    check_edit: Callable[[str], object]
    reviewer: Reviewer | None

    async def decide(self, key: str, place: RunContext) -> GateOutcome:
        """Return the outcome, which is saved.

        Args:
            key: key of the checkpoint of the gate.
            place: the context of the task.

        Raises:
            Suspended: when nobody has decided yet.
        """
        consultation = PersonConsultation(self._create_question(key), place, self.reviewer)
        if not consultation.was_asked:
            role, timing = self.review.required_role, self._timing
            place.emit(ReviewRequested, task_id=self.task_id, timing=timing, required_role=role)
        is_known = consultation.is_answered
        answer = await consultation.ask()
        outcome = TimedOut(self.review.on_timeout) if answer is None else answer.value
        if not is_known:
            self._report(outcome, answer, place)
        return outcome

    def _create_question(self, key: str) -> Question[ReviewDecision]:
        review, is_before = self.review, self.review.timing == "before"
        asked = "May this task run?" if is_before else f"Is this output of the task {self.task_id!r} good?"
        return Question(
            key,
            f"{review.prompt or asked}\n\n{self.subject}",
            get_decision_schema(),
            self._read,
            _encode,
            _decode,
            review.timeout,
            review.required_role,
            review.on_timeout,
        )

    def _read(self, response: Response) -> ReviewDecision:
        decision = read_decision(response)
        if decision.decision == "retry" and self._timing == "before":
            raise InvalidOutput("a task that has not run cannot be retried: approve it, or exit early")
        if decision.decision == "edit" and self._timing == "after":
            if not decision.text.strip():
                raise InvalidOutput("the new output is empty")
            self.check_edit(decision.text)
        return decision

    def _report(self, outcome: GateOutcome, answer: PersonAnswer[ReviewDecision] | None, place: RunContext) -> None:
        is_decision = isinstance(outcome, ReviewDecision)
        place.emit(
            ReviewDecided,
            task_id=self.task_id,
            timing=self._timing,
            decision=outcome.decision if isinstance(outcome, ReviewDecision) else outcome.action,
            by=None if answer is None else answer.by,
            feedback=outcome.feedback if isinstance(outcome, ReviewDecision) else "",
            timed_out=not is_decision,
        )

    @property
    def _timing(self) -> GateTiming:
        return "before" if self.review.timing == "before" else "after"


def _encode(decision: ReviewDecision) -> JsonValue:
    return cast("JsonValue", decision_adapter().dump_python(decision, mode="json"))


def _decode(saved: object) -> ReviewDecision:
    return decision_adapter().validate_python(saved)
