"""How fast something may be done that others limit."""

from __future__ import annotations

from tactician.clock import Clock


class Pace:
    """Gives turns that begin no sooner than some seconds after one another, whoever takes them.

    Args:
        seconds: from the beginning of one turn to that of the next.
        clock: the time.
    """

    __slots__ = ("_clock", "_next", "_seconds")

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._next = clock.monotonic()

    async def turn(self) -> None:
        """Waits until it is the caller's turn."""
        now = self._clock.monotonic()
        begins = max(now, self._next)
        self._next = begins + self._seconds
        if begins > now:
            await self._clock.sleep(begins - now)
