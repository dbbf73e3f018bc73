"""Timeouts by an injected clock."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from tactician.clock import Clock, Timeout
from tactician.errors import TacticianError
from tactician.grammar import format_count

T = TypeVar("T")


class StepTimeoutError(TacticianError, TimeoutError):
    """A step has taken longer than its timeout, and was cancelled."""


async def run_with_timeout(work: Awaitable[T], seconds: float, clock: Clock, name: str) -> T:
    """Return the result of the work. Cancel the work when it takes longer.

    Args:
        work: the work; it runs in the current task.
        seconds: the limit.
        clock: the time.
        name: the name of the work in the error.

    Raises:
        StepTimeoutError: when the work has taken longer.
    """
    limit = Timeout(seconds, clock)
    try:
        # In the current task, not in a new one: the work keeps its context variables, and a cancellation reaches it
        # directly.
        with limit:
            return await work
    except TimeoutError:
        if not limit.is_expired:
            raise
        raise StepTimeoutError(
            f"{name} has not ended within {format_count(seconds, 'second')}, and was cancelled."
        ) from None
