"""Retries of work that failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from tactician.clock import Clock
from tactician.grammar import format_count

T = TypeVar("T")


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
