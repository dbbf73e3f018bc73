"""Performance of a single step, with its timeout and its retries."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import TypeVar

from tactician.clock import Clock
from tactician.flow.steps import FlowStep, StepCompleted, StepFailed, StepSuspended, run_with_retries
from tactician.flow.timeout import run_with_timeout
from tactician.runs.outcomes.suspension import Suspended, find_suspension

T = TypeVar("T")


async def perform_step(
    step: FlowStep[T], results: Mapping[str, T], clock: Clock
) -> StepCompleted[T] | StepFailed | StepSuspended:
    """Run a step, and return its outcome; only a cancellation passes.

    Args:
        step: the step.
        results: the results of its dependencies.
        clock: the time, for its timeout and its retries.
    """
    try:
        return StepCompleted(step.key, await _begin(step, results, clock))
    except BaseException as error:
        return create_failure(step.key, error)


def create_failure(key: str, error: BaseException) -> StepFailed | StepSuspended:
    """Return the outcome of a step that has raised an exception.

    Raises:
        CancelledError: when it was cancelled.
        GeneratorExit: when it was closed.
    """
    # These belong to the caller, not to the step: as an outcome they would keep the task from ending.
    if isinstance(error, (CancelledError, GeneratorExit)):
        raise error
    # A task group wraps a suspension in an exception group, and the step still only waits.
    suspended = find_suspension(error)
    return StepFailed(key, error) if suspended is None else StepSuspended(key, suspended.pending)


def is_fatal(error: BaseException) -> bool:
    """Return whether no step continues after the error: it is not an `Exception`, or a group with such an error."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_fatal, error.exceptions))
    return not isinstance(error, Exception | Suspended)


def _begin(step: FlowStep[T], results: Mapping[str, T], clock: Clock) -> Awaitable[T]:
    """Return the work of a step, with its timeout and its retries."""
    if step.timeout is None and step.retry is None:  # nearly always
        return step.work(results)
    # The timeout is inside the retries: each attempt has the whole time.
    attempt = step.work if step.timeout is None else partial(_work_in_time, step, step.timeout, clock)
    if step.retry is None:
        return attempt(results)
    return run_with_retries(lambda _: attempt(results), step.retry, clock)


def _work_in_time(step: FlowStep[T], seconds: float, clock: Clock, results: Mapping[str, T]) -> Awaitable[T]:
    return run_with_timeout(step.work(results), seconds, clock, f"The step {step.key!r}")
