"""Pace of calls to a service that limits their rate."""

from __future__ import annotations

from tactician.clock import Clock
from tactician.resilience.rate_limiter import RateLimiter


class Pace:
    """Sequence of turns, shared by all callers, that begin at least some seconds apart.

    Args:
        seconds: least time between the beginnings of two turns.
        clock: clock to measure and wait by.
    """

    __slots__ = ("_clock", "_limiter")

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._limiter = RateLimiter(1 / seconds)
        self._clock = clock

    async def turn(self) -> None:
        """Wait until it is the caller's turn."""
        now = self._clock.monotonic()
        begins = self._limiter.available_at(now)
        self._limiter.consume(begins)
        if begins > now:
            await self._clock.sleep(begins - now)
