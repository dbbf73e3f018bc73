"""Errors of ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from tactician.ensemble.values.phase_decisions import PhaseReviewRecord
from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.values.task_output import TaskOutput
from tactician.errors import DocumentError, LeaseLostError, StoreError
from tactician.runs import RunError, RunKilledError, RunResult, RunStatus
from tactician.runs.outcomes.errors import get_end_status, is_final
from tactician.text import describe_error

INTERRUPTIONS: Final = (LeaseLostError, StoreError, RunKilledError)
"""Errors that do not belong to a task: the run continues elsewhere, or nowhere."""


class EnsembleDefinitionError(DocumentError):
    """Error for mistakes in an ensemble, a task or the input of a run. `problems` lists all, each with its place."""


class TaskFailedError(RunError):
    """A task of an ensemble failed. `result` is what the run had done so far.

    Attributes:
        completed: the outputs of completed tasks, by task id.
        failed: the errors of failed tasks, by task id.
        skipped: the reasons why other tasks did not run, by task id.
        cause: who failed and why, for the error of a run around this run; `None` where only the message says it.
    """

    def __init__(
        self,
        message: str,
        result: EnsembleResult,
        completed: Mapping[str, TaskOutput],
        failed: Mapping[str, Exception],
        skipped: Mapping[str, str],
        *,
        cause: tuple[str, str] | None = None,
    ) -> None:
        result.failed = {task_id: describe_cause(name_task(task_id), error) for task_id, error in failed.items()}
        statuses = [
            get_end_status(error) for error in failed.values()
        ]  # a limit ends the run, whatever else has failed
        status = RunStatus.TERMINATED if RunStatus.TERMINATED in statuses else next(iter(statuses), None)
        super().__init__(message, cast("RunResult[None]", result), status)  # it has no output
        self.completed = completed
        self.failed = failed
        self.skipped = skipped
        self.cause = cause
        self.is_final = any(map(is_final, failed.values()))


def name_task(task_id: str) -> str:
    """Return how errors name a task."""
    return f"task {task_id!r}"


def describe_cause(place: str, error: Exception) -> str:
    """Return why something failed at a place, such as `task 'Write'`, without what the error repeats of the place."""
    if isinstance(error, TaskFailedError) and error.cause is not None:
        name, reasons = error.cause
        return reasons if place in (name, name_task(name)) else f"{name}: {reasons}"
    text = describe_error(error)
    _, repeated, message = text.partition(f": {place}: ")
    return message if repeated and text.startswith(f"{type(error).__name__}{repeated}") else text


class CompositeError(RunError):
    """A loop, a graph, a map-reduce or the condition of a task failed, although no task did.

    Attributes:
        outputs: the outputs of its tasks so far, in the order in which they ended.
    """

    def __init__(self, message: str, result: EnsembleResult) -> None:
        super().__init__(message, cast("RunResult[None]", result))  # it has no output
        self.outputs = result.task_outputs


class PredicateError(CompositeError):
    """A predicate of a task, of a loop or of a graph raised."""


class LoopLimitError(CompositeError):
    """The predicate of a loop has not held after `max_iterations`."""


class GraphError(CompositeError):
    """A graph had no edge that matches, or did not reach its end in `max_steps`."""


class MapReduceError(CompositeError):
    """A function of a map-reduce failed, or returned what is not a task."""


class ReviewRejectedError(RunError):
    """Nobody has decided in time about a task whose review has `on_timeout="reject"`."""

    is_final = True


class ConstraintViolationError(TaskFailedError):
    """The manager of a hierarchy answered before all required workers had completed a delegation.

    Attributes:
        violations: the constraints that do not hold.
    """

    def __init__(
        self, message: str, result: EnsembleResult, completed: Mapping[str, TaskOutput], violations: Mapping[str, str]
    ) -> None:
        super().__init__(message, result, completed, {}, violations)
        self.violations = tuple(violations.values())


class PhaseReviewError(TaskFailedError):
    """The review of a phase has rejected it, asked for more retries than it has, or came to no decision.

    Attributes:
        phase: the name of the phase.
        feedback: the last feedback.
        review: the attempts and the decisions on them.
    """

    def __init__(
        self,
        message: str,
        result: EnsembleResult,
        completed: Mapping[str, TaskOutput],
        failed: Mapping[str, Exception],
        skipped: Mapping[str, str],
        *,
        phase: str,
        review: PhaseReviewRecord,
    ) -> None:
        super().__init__(message, result, completed, failed, skipped)
        self.phase = phase
        self.review = review
        self.feedback = next(
            (past.decision.feedback for past in reversed(review.history) if past.decision.feedback), ""
        )
