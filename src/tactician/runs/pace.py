"""Pace of requests to a service that limits their rate."""

from __future__ import annotations

from tactician.clock import Clock


class Pace:
    """Sequence of turns, shared by all callers, that begin at least some seconds apart.

    Args:
        seconds: least time between the beginnings of two turns.
        clock: clock to measure and wait by.
    """

    __slots__ = ("_clock", "_next", "_seconds")

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next = clock.monotonic()

    async def turn(self) -> None:
        """Wait until it is the caller's turn."""
        now = self._clock.monotonic()
        begins = max(now, self._next)
        self._next = begins + self._seconds
        if begins > now:
            await self._clock.sleep(begins - now)


class RequestPace:
    """Pace of the requests to models in a part of a run, found by this class in its context.

    Args:
        pace: the pace.
        outer: the pace around that part, which holds too.
    """

    __slots__ = ("_outer", "_pace")

    def __init__(self, pace: Pace, outer: RequestPace | None) -> None:
        self._pace = pace
        self._outer = outer

    async def turn(self) -> None:
        """Wait until it is the turn of a request."""
        if self._outer is not None:
            await self._outer.turn()
        await self._pace.turn()
