"""The source of time, which tests replace to make limits, timeouts and pauses instant."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
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
