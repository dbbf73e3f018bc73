"""Reviews of a task: somebody decides before it runs, or about its output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from tactician.ensemble.errors import ReviewRejectedError
from tactician.ensemble.results import ExitReason
from tactician.ensemble.reviews import Gate, Review, ReviewDecision, Reviewer, ReviewPolicy, TimedOut
from tactician.ensemble.task_execution import TaskExecution
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_signals import EnsembleExit, RetryRequested
from tactician.loop import output_type


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Settings of an ensemble for reviews.

    Attributes:
        policy: the tasks that are reviewed when they do not say so themselves.
        reviewer: function that answers; without a reviewer, the run waits.
    """

    policy: ReviewPolicy = ReviewPolicy.NEVER
    reviewer: Reviewer | None = None


@dataclass(frozen=True, slots=True)
class TaskGate:
    """Gate of a task.

    Attributes:
        review: its settings.
        reviewer: the reviewer of the ensemble.
    """

    review: Review
    reviewer: Reviewer | None

    async def review_task(self, execution: TaskExecution) -> None:
        """Let somebody decide whether the task runs.

        Raises:
            EnsembleExit: when it does not.
            ReviewRejectedError: when nobody has decided in time, and that rejects the task.
            Suspended: when nobody has decided yet.
        """
        await self._decide("review before", execution.input.description, execution, None)

    async def review_output(self, execution: TaskExecution, output: TaskOutput) -> TaskOutput:
        """Return the output that counts: this output, or the reviewer's edit of it.

        Raises:
            RetryRequested: when the task has to run again.
            EnsembleExit: when the ensemble ends with this output.
            ReviewRejectedError: when nobody has decided in time, and that rejects the output.
            Suspended: when nobody has decided yet.
        """
        key = f"review after {execution.progress.attempt}"
        decision = await self._decide(key, output.raw, execution, output)
        if decision is not None and decision.decision == "retry":
            raise RetryRequested(decision.feedback)
        if decision is not None and decision.decision == "edit":
            return replace(output, raw=decision.text, parsed=_parse(decision.text, execution))
        return output

    async def _decide(
        self, key: str, subject: str, execution: TaskExecution, output: TaskOutput | None
    ) -> ReviewDecision | None:
        """Return the decision; `None` for an approval because nobody has decided in time."""
        task_id = execution.job.task.id
        gate = Gate(self.review, task_id, subject, lambda text: _parse(text, execution), self.reviewer)
        outcome = await gate.decide(key, execution.place)
        match outcome:
            case TimedOut("exit_early"):
                raise EnsembleExit(ExitReason.TIMEOUT, output)
            case TimedOut("reject"):
                problem = f"nobody decided within {self.review.timeout:g} seconds, and on_timeout is 'reject'"
                message = f"the review {self.review.timing} task {task_id!r}: {problem}"
                raise ReviewRejectedError(message, execution.create_failed_result())
            case TimedOut():
                return None
            case ReviewDecision("exit_early"):
                raise EnsembleExit(ExitReason.EXIT_EARLY, output)
        return outcome


def _parse(text: str, execution: TaskExecution) -> object:
    """Return a text as an object of the output type of a task; `None` without an output type.

    Raises:
        InvalidOutput: when the text is not valid.
    """
    kind = execution.job.output_kind
    return None if kind is object else output_type(cast("type[object]", kind)).parse(text)
