"""Ends calls that take too long."""

from __future__ import annotations

import asyncio
from math import inf
from threading import Lock
from typing import Protocol

from tactician.clock import Clock, Timer


class Expirable(Protocol):
    """A call that has until `ends_at`, by the router's clock."""

    @property
    def ends_at(self) -> float:
        """When its time is over."""
        ...

    def expire(self) -> None:
        """Its time is over."""
        ...


class Watch:
    """The calls that are under way in one event loop, oldest first, and one alarm for the oldest.

    All calls of a router have the same time, so they expire in the order in which they began and one timer serves all
    of them; `asyncio.timeout` for each would cost more than the rest of the routing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: dict[Expirable, None] = {}
        self._timer: Timer | None = None

    def add(self, call: Expirable) -> None:
        """A call begins."""
        self._calls[call] = None
        if self._timer is None:
            self._set_timer(call)

    def discard(self, call: Expirable) -> None:
        """A call has ended, if it has not expired. The alarm stays, for the next one."""
        self._calls.pop(call, None)

    def _set_timer(self, oldest: Expirable) -> None:
        if oldest.ends_at != inf:
            self._timer = self._clock.call_later(max(0.0, oldest.ends_at - self._clock.monotonic()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        for call in tuple(self._calls):
            if call.ends_at > now:
                self._set_timer(call)
                return
            del self._calls[call]
            call.expire()


class Watches:
    """The watch of each event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._last: tuple[asyncio.AbstractEventLoop | None, Watch] = (None, Watch(clock))
        self._by_loop: dict[asyncio.AbstractEventLoop, Watch] = {}

    def of_this_loop(self) -> Watch:
        """The watch of the running event loop."""
        loop = asyncio.get_running_loop()
        last, watch = self._last
        return watch if last is loop else self._find(loop)

    def _find(self, loop: asyncio.AbstractEventLoop) -> Watch:
        with self._lock:
            self._by_loop = {one: watch for one, watch in self._by_loop.items() if not one.is_closed()}
            watch = self._by_loop.setdefault(loop, Watch(self._clock))
            self._last = (loop, watch)
            return watch
