"""Time limits that many concurrent calls share."""

from __future__ import annotations

import asyncio
from math import inf
from threading import Lock
from types import TracebackType
from weakref import WeakKeyDictionary, ref

from tactician.clock import SYSTEM_CLOCK, Clock


class TimeLimit:
    """Limit of the duration of calls: `with LimitedCall(limit):` raises a `TimeoutError` once it has passed.

    Calls with the same limit expire in the order in which they began, so a timer for each event loop serves all of
    them. A timer for each call, as `asyncio.timeout` has it, would cost more than the rest of the routing.

    Args:
        seconds: the limit of a call; no limit, when it is infinite.
        clock: the time.

    Attributes:
        latest: the timer that was used last; a program nearly always has a single loop.
    """

    def __init__(self, seconds: float, clock: Clock = SYSTEM_CLOCK) -> None:
        self.seconds = seconds
        self.clock = clock
        self._lock = Lock()
        self._timers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Timer] = WeakKeyDictionary()
        self.latest: _Timer | None = None

    def select_timer(self, loop: asyncio.AbstractEventLoop) -> _Timer:
        """Return the timer of a loop, which is the latest from now on."""
        self.latest = self._timers.get(loop) or self._add(loop)
        return self.latest

    def _add(self, loop: asyncio.AbstractEventLoop) -> _Timer:
        """Add the timer of a loop, and forget loops that ended in the middle of calls: these hold their loop."""
        with self._lock:
            for event_loop in [event_loop for event_loop in self._timers if event_loop.is_closed()]:
                del self._timers[event_loop]
            timer = self._timers[loop] = _Timer(loop, self.clock)
            return timer


class LimitedCall:
    """Call of the current task with a time limit: the context manager in which it is limited.

    Args:
        limit: the limit, which counts from now on.

    Attributes:
        ends_at: deadline of the call, by the clock of the limit.
        is_expired: true once the deadline has passed.
    """

    __slots__ = ("_cancelling", "_task", "_timer", "ends_at", "is_expired")

    def __init__(self, limit: TimeLimit) -> None:
        loop, timer = asyncio.get_running_loop(), limit.latest
        if timer is None or timer.loop() is not loop:
            timer = limit.select_timer(loop)
        task = asyncio.current_task(loop)
        assert task is not None
        self.ends_at = limit.clock.monotonic() + limit.seconds
        self.is_expired = False
        self._timer = timer
        self._task = task
        self._cancelling = task.cancelling()

    def __enter__(self) -> LimitedCall:
        timer = self._timer
        timer.calls[self] = None
        if not timer.is_set:
            timer.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.calls.pop(self, None)  # the timer stays set, for the next call
        if self.is_expired:
            is_cancelled_by_others = self._task.uncancel() > self._cancelling
            if kind is asyncio.CancelledError and not is_cancelled_by_others:
                raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the call, because its deadline has passed."""
        self.is_expired = True
        self._task.cancel()


class _Timer:
    """Running calls of an event loop, oldest first, with a timer for the oldest.

    Attributes:
        loop: weak reference to the event loop.
        calls: the calls.
        is_set: true while the timer runs.
    """

    __slots__ = ("_clock", "calls", "is_set", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self.loop = ref(loop)
        self.calls: dict[LimitedCall, None] = {}
        self.is_set = False
        self._clock = clock

    def set(self, oldest: LimitedCall) -> None:
        """Set the timer for the oldest call."""
        if oldest.ends_at != inf:
            # The timer is not kept: it would keep the event loop.
            self._clock.call_later(max(0.0, oldest.ends_at - self._clock.monotonic()), self._expire)
            self.is_set = True

    def _expire(self) -> None:
        self.is_set = False
        now = self._clock.monotonic()
        for call in tuple(self.calls):
            if call.ends_at > now:
                self.set(call)
                return
            del self.calls[call]
            call.expire()
