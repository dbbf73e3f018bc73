"""Time, from one place, so that limits, timeouts and pauses test in milliseconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will happen, unless it is cancelled before."""

    def cancel(self) -> None:
        """Makes it not happen."""
        ...


class Clock(Protocol):
    """The time that a run or a router goes by. All times are in seconds."""

    def now(self) -> float:
        """The time since some fixed moment. It never goes back, and is the same in every event loop."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Calls back in the running event loop, after so many seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...


class SystemClock:
    """The clock of this machine, and the timers of the running event loop."""

    now = staticmethod(time.monotonic)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Calls back in the running event loop, after so many seconds."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
