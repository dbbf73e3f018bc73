"""The source of time, which tests replace to make limits, timeouts and pauses instant."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol

LONGEST_WAIT: Final = 100 * 365 * 86_400.0
"""Seconds that a request may wait at most, so that the time of its end is a date."""


class Timer(Protocol):
    """Scheduled callback that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the callback."""
        ...


class Clock(Protocol):
    """Time of a run or a router. All times are in seconds."""

    def monotonic(self) -> float:
        """Return the time since some fixed moment. It never goes back, and is the same in every event loop."""
        ...

    def time(self) -> float:
        """Return the wall time, in seconds since the epoch: for what is stored, shown or compared across machines."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule a callback in the running event loop after so many seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        ...


class SystemClock:
    """Clock of this machine, and the timers of the running event loop."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule a callback in the running event loop after so many seconds."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


class Timeout:
    """Time limit of the current task, by a clock: `with Timeout(5, clock):` raises a `TimeoutError` after five seconds.

    Args:
        seconds: the limit, which counts from the `with` statement on; `None` for no limit.
        clock: the time.

    Attributes:
        is_expired: true once the limit has passed.
    """

    __slots__ = ("_cancellations", "_clock", "_seconds", "_task", "_timer", "is_expired")

    def __init__(self, seconds: float | None, clock: Clock) -> None:
        self.is_expired = False
        self._seconds = seconds
        self._clock = clock
        self._timer: Timer | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancellations = 0

    def __enter__(self) -> Timeout:
        self._task = task = asyncio.current_task()
        assert task is not None
        self._cancellations = task.cancelling()
        if self._seconds is not None:
            self._timer = self._clock.call_later(max(0.0, self._seconds), self._expire)
        return self

    def lift(self) -> None:
        """Take the limit away, unless the limit has passed."""
        if self._timer is not None:
            self._timer.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.lift()
        if self.is_expired and self._task is not None:
            is_cancelled_by_others = self._task.uncancel() > self._cancellations
            if kind is not None and issubclass(kind, asyncio.CancelledError) and not is_cancelled_by_others:
                raise TimeoutError from error

    def _expire(self) -> None:
        if self._task is not None:
            self.is_expired = True
            self._task.cancel()


async def pause(seconds: float, clock: Clock) -> None:
    """Wait for a timer of the clock, as a loop in the background does between two rounds.

    `Clock.sleep` is for work that has nothing to do but wait: a `FakeClock` lets that pass at once. A loop in the
    background has no end, so that a test moves the time on for it.
    """
    waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not waits.done():
            waits.set_result(None)

    timer = clock.call_later(seconds, wake)
    try:
        await waits
    finally:
        timer.cancel()


async def wait_for_event(event: asyncio.Event, seconds: float | None, clock: Clock) -> bool:
    """Wait for an event for so many seconds at most, and return whether it has come; `None` is any time."""
    try:
        with Timeout(seconds, clock):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True
