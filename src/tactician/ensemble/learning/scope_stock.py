"""Stock of a scope: what a program knows of the entries in it, so that it need not look at all of them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

_SPARE: Final = 10
"""One further entry for so many may be in a scope, until all beyond its number are deleted at once."""


class Stock:
    """Entries of a scope, as they were last counted, with those that were written here since."""

    __slots__ = ("_number", "_oldest")

    def __init__(self) -> None:
        self._number: int | None = None
        self._oldest: datetime | None = None

    def count(self, times: Sequence[datetime]) -> None:
        """Note the times of all entries."""
        self._number, self._oldest = len(times), min(times, default=None)

    def add(self, at: datetime, keep_last: int, oldest: datetime | None) -> bool:
        """Note a further entry, and return whether there may be too many, or too old ones.

        Args:
            at: the time of the entry.
            keep_last: number of entries to keep.
            oldest: time before which no entry is kept.
        """
        if self._number is None:
            return True
        self._number += 1
        self._oldest = at if self._oldest is None else min(self._oldest, at)
        return self._number > keep_last + keep_last // _SPARE or (oldest is not None and self._oldest < oldest)
