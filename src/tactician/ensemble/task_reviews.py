"""Reviews of a task: its gates, and the reviewer's answers to what its agent waits for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.errors import ReviewRejectedError
from tactician.ensemble.results import ExitReason
from tactician.ensemble.reviews import (
    Gate,
    Review,
    ReviewDecision,
    Reviewer,
    ReviewPolicy,
    TimedOut,
    ask_reviewer,
    find_gate,
)
from tactician.ensemble.task_output import TaskOutput
from tactician.flow import StepTimeoutError
from tactician.loop import output_type
from tactician.runs import (
    Live,
    PendingRequest,
    Response,
    RunContext,
    RunResult,
    RunStatus,
    find_suspension,
    record_authors,
    restore_response,
    save_response,
)

Run: TypeAlias = Callable[[RunContext], Coroutine[object, object, RunResult[object]]]


class EnsembleExit(Exception):  # noqa: N818 - it says what happens
    """Signal that a review ends the ensemble.

    Attributes:
        reason: the reason.
        output: the output of the reviewed task; `None` before it has run.
    """

    def __init__(self, reason: ExitReason, output: TaskOutput | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


class RetryRequested(Exception):  # noqa: N818 - it says what happens
    """Signal that a review asks for another attempt, with feedback."""

    def __init__(self, feedback: str) -> None:
        super().__init__(feedback)
        self.feedback = feedback


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Settings of an ensemble for reviews.

    Attributes:
        policy: the tasks that are reviewed when they do not say so themselves.
        reviewer: function that answers; without a reviewer, the run waits.
    """

    policy: ReviewPolicy = ReviewPolicy.NEVER
    reviewer: Reviewer | None = None


class TaskReviews:
    """Reviews of a task.

    Args:
        job: the task.
        settings: the settings of the ensemble.
        place: the context of the task.
        is_last: true for the last task in the list.
    """

    __slots__ = ("_after", "_before", "_job", "_place", "_reviewer")

    def __init__(self, job: Assignment, settings: ReviewSettings, place: RunContext, *, is_last: bool) -> None:
        self._job = job
        self._place = place
        self._reviewer = settings.reviewer
        own = job.task.reviews
        self._before = find_gate("before", own, settings.policy, is_last=is_last)
        self._after = find_gate("after", own, settings.policy, is_last=is_last)

    @property
    def follow_output(self) -> bool:
        """True when the output is reviewed."""
        return self._after is not None

    async def review_task(self, description: str) -> None:
        """Let somebody decide whether the task runs.

        Raises:
            EnsembleExit: when it does not.
            ReviewRejectedError: when nobody has decided in time, and that rejects the task.
            Suspended: when nobody has decided yet.
        """
        if self._before is not None:
            await self._decide(self._before, "review before", description, None)

    async def review_output(self, output: TaskOutput, attempt: int) -> TaskOutput:
        """Return the output that counts: this output, or the reviewer's edit of it.

        Raises:
            RetryRequested: when the task has to run again.
            EnsembleExit: when the ensemble ends with this output.
            ReviewRejectedError: when nobody has decided in time, and that rejects the output.
            Suspended: when nobody has decided yet.
        """
        if self._after is None:
            return output
        decision = await self._decide(self._after, f"review after {attempt}", output.raw, output)
        if decision is not None and decision.decision == "retry":
            raise RetryRequested(decision.feedback)
        if decision is not None and decision.decision == "edit":
            return replace(output, raw=decision.text, parsed=self._parse(decision.text))
        return output

    async def _decide(self, review: Review, key: str, subject: str, output: TaskOutput | None) -> ReviewDecision | None:
        """Return the decision at a gate; `None` for an approval because nobody has decided in time."""
        gate = Gate(review, self._job.task.id, subject, self._parse, self._reviewer)
        outcome = await gate.decide(key, self._place)
        match outcome:
            case TimedOut("exit_early"):
                raise EnsembleExit(ExitReason.TIMEOUT, output)
            case TimedOut("reject"):
                raise self._create_rejection(review)
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
        kind = self._job.output_kind
        return None if kind is object else output_type(cast("type[object]", kind)).parse(text)

    def _create_rejection(self, review: Review) -> ReviewRejectedError:
        failed = RunResult(None, RunStatus.FAILED, tally=self._place.tally, run_id=self._place.run_id)
        problem = f"nobody decided within {review.timeout:g} seconds, and on_timeout is 'reject'"
        return ReviewRejectedError(f"the review {review.timing} task {self._job.task.id!r}: {problem}", failed)

    async def run_with_reviewer(self, run: Run, place: RunContext) -> RunResult[object]:
        """Run, and let the reviewer answer what the run waits for: questions, and approvals of tools.

        Args:
            run: function that runs the task in a context.
            place: that context.

        Raises:
            Suspended: when the reviewer does not answer.
        """
        if self._reviewer is None:
            return await run(place)
        assert place.checkpoint is not None
        answers = place.checkpoint.at("answers")
        while True:
            known = {name: restore_response(saved) for name, saved in answers.data.items()}
            try:
                return await run(replace(place, responses={**known, **place.responses}) if known else place)
            except BaseException as error:
                suspended = find_suspension(error)
                if suspended is None or not (new := await self._answer(suspended.pending, known)):
                    raise
            answers.set(**new)
            place.checkpoint.detach()  # so that the run reads its completed steps from the beginning

    async def _answer(self, pending: Iterable[PendingRequest], known: dict[str, Response]) -> dict[str, Live[Response]]:
        """Return the reviewer's answers to requests that it has not answered yet."""
        answers = {}
        for request in pending:
            if self._reviewer is None or request.id in known:
                continue
            try:
                answer = await ask_reviewer(self._reviewer, request, self._place)
            except StepTimeoutError:
                answers[request.id] = save_response(request.default)
                continue
            if answer is not None:
                answers[request.id] = save_response(answer.response)
                self._record_author(request, answer.by)
        return answers

    def _record_author(self, request: PendingRequest, name: str | None) -> None:
        assert self._place.checkpoint is not None
        record_authors(self._place.checkpoint, [request.id], name)
