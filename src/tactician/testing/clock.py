"""Clock that tests control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tactician.suggestions import suggest_options

_EPOCH = 1_700_000_000.0


@suggest_options
class FakeClock:
    """`Clock` that stands still until a sleep or `advance` moves it on.

    A sleep moves the time on at once, so that nothing waits.

    Args:
        start: the monotonic time at the beginning. The wall time is later by a fixed span.

    Attributes:
        slept: the seconds of each sleep, in order.
    """

    def __init__(self, start: float = 1000.0) -> None:
        self._now = start
        self._timers: list[_FakeTimer] = []
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Return the time since some fixed moment."""
        return self._now

    def time(self) -> float:
        """Return the wall time, in seconds since the epoch."""
        return _EPOCH + self._now

    def advance(self, seconds: float) -> None:
        """Move the time on, and run the callbacks that are due."""
        self._now += seconds
        due = sorted(
            (candidate for candidate in self._timers if candidate.due <= self._now), key=lambda candidate: candidate.due
        )
        self._timers = [candidate for candidate in self._timers if candidate.due > self._now]
        for timer in due:
            if not timer.is_cancelled:
                timer.callback()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> _FakeTimer:
        """Schedule a callback for when the time has moved on by so many seconds."""
        timer = _FakeTimer(self._now + seconds, callback)
        self._timers.append(timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        """Move the time on, and let other tasks run."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)


@dataclass(slots=True)
class _FakeTimer:
    due: float
    callback: Callable[[], object]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True
