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
