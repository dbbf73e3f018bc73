"""Timers that end calls at their deadline."""

from __future__ import annotations

import asyncio
from math import inf
from threading import Lock
from typing import Protocol

from tactician.clock import Clock, Timer


class Expirable(Protocol):
    """Call with a deadline, `ends_at`, by the router's clock."""

    @property
    def ends_at(self) -> float:
        """Deadline of the call."""
        ...

    def expire(self) -> None:
        """End the call, because its deadline has passed."""
        ...


class DeadlineTimer:
    """Running calls of one event loop, oldest first, with one timer for the oldest.

    All calls of a router have the same time limit, so they expire in the order in which they began, and one timer
    serves all of them; `asyncio.timeout` for each would cost more than the rest of the routing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[Expirable, None] = {}
        self._timer: Timer | None = None

    def add(self, call: Expirable) -> None:
        """Add a call that begins."""
        self._calls[call] = None
        if self._timer is None:
            self._set_timer(call)

    def discard(self, call: Expirable) -> None:
        """Remove a call that ended. The timer stays set, for the next call."""
        self._calls.pop(call, None)

    def _set_timer(self, oldest: Expirable) -> None:
        if oldest.ends_at != inf:
            self._timer = self._clock.call_later(max(0.0, oldest.ends_at - self._clock.monotonic()), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        for call in tuple(self._calls):
            if call.ends_at > now:
                self._set_timer(call)
                return
            del self._calls[call]
            call.expire()


class DeadlineTimers:
    """Deadline timers, one for each event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._last: tuple[asyncio.AbstractEventLoop | None, DeadlineTimer] = (None, DeadlineTimer(clock))
        self._by_loop: dict[asyncio.AbstractEventLoop, DeadlineTimer] = {}

    def for_running_loop(self) -> DeadlineTimer:
        """Return the timer of the running event loop."""
        loop = asyncio.get_running_loop()
        last, timer = self._last
        return timer if last is loop else self._find(loop)

    def _find(self, loop: asyncio.AbstractEventLoop) -> DeadlineTimer:
        with self._lock:
            self._by_loop = {key: value for key, value in self._by_loop.items() if not key.is_closed()}
            timer = self._by_loop.setdefault(loop, DeadlineTimer(self._clock))
            self._last = (loop, timer)
            return timer
