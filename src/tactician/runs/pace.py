"""Pace of the requests to models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tactician.resilience.pace import Pace


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
