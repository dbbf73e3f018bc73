"""Steps of a flow, their retries, and the outcomes of steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from tactician.amounts import need_amount
from tactician.clock import Clock
from tactician.grammar import format_count
from tactician.runs import PendingRequest

T = TypeVar("T")
ErrorPolicy: TypeAlias = Literal["fail_fast", "drain", "continue"]
"""Effect of an exception of a step on the others: see `Scheduler`."""


class RetryPolicy(Protocol):
    """Decision about another attempt."""

    def pause_after(self, attempt: int, error: Exception) -> float | None:
        """Return the seconds to wait after an attempt, counted from 1; `None` when it was the last."""
        ...


async def run_with_retries(attempt: Callable[[int], Awaitable[T]], policy: RetryPolicy, clock: Clock) -> T:
    """Return the result of the first attempt that succeeds. Each attempt gets its number, from 1.

    Raises:
        Exception: the exception of the last attempt.
    """
    number = 1
    while True:
        try:
            return await attempt(number)
        except Exception as error:
            pause = policy.pause_after(number, error)
            if pause is None:
                if number > 1:
                    error.add_note(f"after {format_count(number, 'attempt')}")
                raise
        # Outside of the `except`: a cancellation during the pause must not carry the old error as its context.
        await clock.sleep(pause)
        number += 1


@dataclass(slots=True)
class FlowStep(Generic[T]):
    """Unit of work of a flow.

    Attributes:
        key: name of the step, unique within the flow and stable: the same when the flow runs again.
        work: function that does the work. Its argument is the results of the dependencies, by their keys.
        depends_on: keys of the steps that must be completed before the step starts.
        retry: policy for another attempt after an exception; a single attempt, when `None`.
        timeout: seconds that an attempt may take; no limit, when `None`.

    Raises:
        ConfigurationError: when `timeout` is not a number from 0 up.
    """

    key: str
    work: Callable[[Mapping[str, T]], Awaitable[T]]
    depends_on: tuple[str, ...] = ()
    retry: RetryPolicy | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            need_amount("FlowStep.timeout", self.timeout)


@dataclass(slots=True)
class StepCompleted(Generic[T]):
    """Outcome of a step that gave a result."""

    key: str
    result: T


@dataclass(slots=True)
class StepFailed:
    """Outcome of a step that raised, with the exception of its last attempt."""

    key: str
    error: BaseException


@dataclass(slots=True)
class StepSkipped:
    """Outcome of a step that did not start.

    Attributes:
        cause: key of the step that failed, on which it depends, directly or through others.
        reason: the explanation, in a sentence.
    """

    key: str
    cause: str
    reason: str


@dataclass(slots=True)
class StepSuspended:
    """Outcome of a step that waits for an answer from outside. Steps that depend on it do not start."""

    key: str
    pending: tuple[PendingRequest, ...]


StepOutcome: TypeAlias = StepCompleted[T] | StepFailed | StepSkipped | StepSuspended


def create_skip(key: str, cause: StepFailed | StepSkipped) -> StepSkipped:
    """Return the outcome of a step that does not start because of another one."""
    if isinstance(cause, StepSkipped):
        return StepSkipped(key, cause.cause, cause.reason)
    error = f"{type(cause.error).__name__}: {cause.error}".removesuffix(": ")
    return StepSkipped(key, cause.key, f"the step {cause.key!r} failed with {error}")
