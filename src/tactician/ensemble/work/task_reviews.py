"""Reviews of a task: somebody decides before it runs, or about its output."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from tactician.ensemble.reviews.decision import ReviewDecision
from tactician.ensemble.reviews.gate import Gate, GateTiming, TimedOut, find_gate
from tactician.ensemble.reviews.review import Review, ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.values.errors import ReviewRejectedError
from tactician.ensemble.values.results import ExitReason
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.task_signals import EnsembleExit, RetryRequested
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.loop import output_type
from tactician.runs import RunContext, RunResult, RunStatus


@frozen
class ReviewSettings:
    """Settings of an ensemble for reviews.

    Attributes:
        policy: the tasks that are reviewed when they do not say so themselves.
        reviewer: function that answers; without a reviewer, the run waits.
    """

    policy: ReviewPolicy = ReviewPolicy.NEVER
    reviewer: Reviewer | None = None


NO_REVIEWS: Final = ReviewSettings()


@frozen
class TaskGate:
    """Gate of a task.

    Attributes:
        review: its settings.
        job: the task.
        reviewer: the reviewer of the ensemble.
    """

    review: Review
    job: Assignment
    reviewer: Reviewer | None

    async def review_task(self, description: str, place: RunContext) -> None:
        """Let somebody decide whether the task runs.

        Args:
            description: the description of the task.
            place: the context of the task.

        Raises:
            EnsembleExit: when it does not.
            ReviewRejectedError: when nobody has decided in time, and that rejects the task.
            Suspended: when nobody has decided yet.
        """
        await self._decide("review before", description, place, None)

    async def review_output(self, output: TaskOutput, attempt: int, place: RunContext) -> TaskOutput:
        """Return the output that counts: this output, or the reviewer's edit of it.

        Args:
            output: the output.
            attempt: number of the attempt at it, from 1.
            place: the context of the task.

        Raises:
            RetryRequested: when the task has to run again.
            EnsembleExit: when the ensemble ends with this output.
            ReviewRejectedError: when nobody has decided in time, and that rejects the output.
            Suspended: when nobody has decided yet.
        """
        decision = await self._decide(f"review after {attempt}", output.raw, place, output)
        if decision is not None and decision.decision == "retry":
            raise RetryRequested(decision.feedback)
        if decision is not None and decision.decision == "edit":
            return replace(output, raw=decision.text, parsed=self._parse(decision.text))
        return output

    async def _decide(
        self, key: str, subject: str, place: RunContext, output: TaskOutput | None
    ) -> ReviewDecision | None:
        """Return the decision; `None` for an approval because nobody has decided in time."""
        gate = Gate(self.review, self.job.task.id, subject, self._parse, self.reviewer)
        outcome = await gate.decide(key, place)
        match outcome:
            case TimedOut("exit_early"):
                raise EnsembleExit(ExitReason.TIMEOUT, output)
            case TimedOut("reject"):
                raise self._create_rejection(place)
            case TimedOut():
                return None
            case ReviewDecision("exit_early"):
                raise EnsembleExit(ExitReason.EXIT_EARLY, output)
        return outcome

    def _parse(self, text: str) -> object:
        """Return a text as an object of the output type of the task; `None` without an output type.

        Raises:
            InvalidOutput: when the text is not valid.
        """
        kind = self.job.output_kind
        return None if kind is object else output_type(cast("type[object]", kind)).parse(text)

    def _create_rejection(self, place: RunContext) -> ReviewRejectedError:
        failed = RunResult(None, RunStatus.FAILED, tally=place.tally, run_id=place.run_id)
        problem = (
            f"nobody decided within {format_count(self.review.timeout or 0, 'second')}, and on_timeout is 'reject'"
        )
        return ReviewRejectedError(f"the review {self.review.timing} task {self.job.task.id!r}: {problem}", failed)


def find_task_gate(timing: GateTiming, job: Assignment, settings: ReviewSettings, *, is_last: bool) -> TaskGate | None:
    """Return the gate of a task at a time; `None` when it has none.

    Args:
        timing: the time.
        job: the task.
        settings: the settings of the ensemble for reviews.
        is_last: true for the task that gives the ensemble its output.
    """
    review = find_gate(timing, job.task.reviews, settings.policy, is_last=is_last)
    return None if review is None else TaskGate(review, job, settings.reviewer)
