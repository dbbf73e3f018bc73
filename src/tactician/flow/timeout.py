"""Timeouts by an injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from tactician.clock import Clock
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
    task = asyncio.current_task()
    assert task is not None
    is_late, cancellations = False, task.cancelling()

    def cancel() -> None:
        nonlocal is_late
        is_late = True
        task.cancel()

    timer = clock.call_later(seconds, cancel)
    try:
        # In the current task, not in a new one: the work keeps its context variables, and a cancellation reaches it
        # directly.
        return await work
    except asyncio.CancelledError:
        if not is_late or task.cancelling() > cancellations + 1:  # somebody else has cancelled the task as well
            raise
        raise StepTimeoutError(
            f"{name} has not ended within {format_count(seconds, 'second')}, and was cancelled."
        ) from None
    finally:
        # A late timer has cancelled the task. Whatever the work made of it, the count of cancellations is set right
        # again.
        timer.cancel()
        if is_late:
            task.uncancel()
