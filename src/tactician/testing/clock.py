"""Clock that tests control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Final

from tactician.clock import pause
from tactician.suggestions import suggest_options

_EPOCH: Final = 1_700_000_000.0
_MOST_TURNS: Final = 1000


@suggest_options
class FakeClock:
    """`Clock` that stands still until a sleep, `advance` or `run_for` moves it on.

    A sleep moves the time on at once, so that nothing waits. With `sleeps_wait=True` a sleep waits until the test has
    moved the time on, so that several tasks sleep at once, as they do in real time. Timeouts, heartbeats and the loops
    of workers and servers wait for the test in both forms.

    Args:
        start: the monotonic time at the beginning. The wall time is later by a fixed span.
        sleeps_wait: true when the time moves on by `advance` and `run_for` only.

    Attributes:
        slept: the seconds of each sleep, in the order in which the sleeps began.
    """

    def __init__(self, start: float = 1000.0, *, sleeps_wait: bool = False) -> None:
        self._now = start
        self._timers: list[_FakeTimer] = []
        self._numbers = count()
        self._sleeps_wait = sleeps_wait
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Return the time since some fixed moment."""
        return self._now

    def time(self) -> float:
        """Return the wall time, in seconds since the epoch."""
        return _EPOCH + self._now

    def advance(self, seconds: float) -> None:
        """Move the time on, and run the callbacks that are due, each at its time. Tasks run after the next `await`."""
        end = self._now + seconds
        while self._fire_next(end):
            pass
        self._now = max(self._now, end)

    async def run_for(self, seconds: float) -> None:
        """Move the time on from timer to timer, and let all tasks run between, until nothing is ready to run.

        So an hour of heartbeats, polls and retries passes in milliseconds, each at its time. Threads, processes and
        sockets take real time: await their work before the next step.
        """
        end = self._now + seconds
        await _let_tasks_run()
        while self._fire_next(end):
            await _let_tasks_run()
        self._now = max(self._now, end)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> _FakeTimer:
        """Schedule a callback for when the time has moved on by so many seconds; at once, when it is none."""
        timer = _FakeTimer(self._now + seconds, next(self._numbers), callback)
        if seconds <= 0:
            asyncio.get_running_loop().call_soon(timer.fire)
        elif timer.due < inf:
            heappush(self._timers, timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        """Move the time on, and let other tasks run; or wait for the test to move it on."""
        self.slept.append(seconds)
        if self._sleeps_wait:
            await pause(seconds, self)
            return
        self.advance(seconds)
        await asyncio.sleep(0)

    def _fire_next(self, end: float) -> bool:
        """Run the callback of the next timer that is due by then, and return whether there was any."""
        while self._timers and self._timers[0].due <= end:
            timer = heappop(self._timers)
            if not timer.is_cancelled:
                self._now = max(self._now, timer.due)
                timer.fire()
                return True
        return False


@dataclass(slots=True, order=True)
class _FakeTimer:
    due: float
    number: int
    callback: Callable[[], object] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.is_cancelled = True

    def fire(self) -> None:
        if not self.is_cancelled:
            self.callback()


async def _let_tasks_run() -> None:
    """Let tasks run until none is ready, or for a thousand turns where one is always ready."""
    ready: Sized | None = getattr(asyncio.get_running_loop(), "_ready", None)  # unknown to loops of other libraries
    for _ in range(_MOST_TURNS):
        await asyncio.sleep(0)
        if ready is not None and not ready:
            return
