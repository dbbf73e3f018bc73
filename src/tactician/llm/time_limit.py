"""Time limits that many concurrent calls share."""

from __future__ import annotations

import asyncio
from math import inf
from threading import Lock
from types import TracebackType
from weakref import WeakKeyDictionary

from tactician.clock import SYSTEM_CLOCK, Clock


class TimeLimit:
    """Limit of the duration of calls: `with limit.start():` raises a `TimeoutError` once it has passed.

    Calls with the same limit expire in the order in which they began, so a timer for each event loop serves all of
    them. A timer for each call, as that of `asyncio.timeout`, would cost more than the rest of the routing.

    Args:
        seconds: the limit of a call; no limit, when it is infinite.
        clock: the time.
    """

    def __init__(self, seconds: float, clock: Clock = SYSTEM_CLOCK) -> None:
        self.seconds = seconds
        self.clock = clock
        self._lock = Lock()
        self._timers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Timer] = WeakKeyDictionary()

    def start(self) -> LimitedCall:
        """Start a call in the current task, and return the context manager in which it is limited."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(loop) or self._add(loop)
        return LimitedCall(timer, self.clock.monotonic() + self.seconds)

    def _add(self, loop: asyncio.AbstractEventLoop) -> _Timer:
        """Add the timer of a loop, and forget loops that ended in the middle of calls: these hold their loop."""
        with self._lock:
            for known in [known for known in self._timers if known.is_closed()]:
                del self._timers[known]
            timer = self._timers[loop] = _Timer(self.clock)
            return timer


class LimitedCall:
    """Call with a time limit; see `TimeLimit`.

    Attributes:
        ends_at: deadline of the call, by the clock of the limit.
        is_expired: true once the deadline has passed.
    """

    __slots__ = ("_cancelling", "_task", "_timer", "ends_at", "is_expired")

    def __init__(self, timer: _Timer, ends_at: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.ends_at = ends_at
        self.is_expired = False
        self._timer = timer
        self._task = task
        self._cancelling = task.cancelling()

    def __enter__(self) -> LimitedCall:
        self._timer.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.discard(self)
        if self.is_expired:
            is_cancelled_by_others = self._task.uncancel() > self._cancelling
            if kind is asyncio.CancelledError and not is_cancelled_by_others:
                raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the call, because its deadline has passed."""
        self.is_expired = True
        self._task.cancel()


class _Timer:
    """Running calls of an event loop, oldest first, with a timer for the oldest."""

    __slots__ = ("_calls", "_clock", "_is_set")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[LimitedCall, None] = {}
        self._is_set = False

    def add(self, call: LimitedCall) -> None:
        """Add a call that begins."""
        self._calls[call] = None
        if not self._is_set:
            self._set(call)

    def discard(self, call: LimitedCall) -> None:
        """Remove a call that ended. The timer stays set, for the next call."""
        self._calls.pop(call, None)

    def _set(self, oldest: LimitedCall) -> None:
        if oldest.ends_at != inf:
            # The timer is not kept: it would keep the event loop.
            self._clock.call_later(max(0.0, oldest.ends_at - self._clock.monotonic()), self._expire)
            self._is_set = True

    def _expire(self) -> None:
        self._is_set = False
        now = self._clock.monotonic()
        for call in tuple(self._calls):
            if call.ends_at > now:
                self._set(call)
                return
            del self._calls[call]
            call.expire()
