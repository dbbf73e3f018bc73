"""Order in which workers claim the documents of a store in memory: a claim costs as much with many as with few."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from tactician.stores.document import PRIORITY_AGEING
from tactician.stores.memory_entry import MemoryEntry

_FEW: Final = 64
"""Number of places without a document that are not worth an effort."""


@dataclass(slots=True, eq=False)
class _Place:
    """Place of a document in the order.

    Attributes:
        entry: the document; `None` when it has left its place.
        name: name of the document.
        rank: its rank among those that may be claimed.
        due_at: time from which it may be claimed, as far as known when it took its place.
    """

    entry: MemoryEntry | None
    name: str
    rank: tuple[float, int]
    due_at: float


class _Line:
    """Documents of one name: those that may be claimed later, by time, and those that may be claimed now, by rank.

    A place may be out of date: who takes it from its heap looks when the document may be claimed in fact.
    """

    def __init__(self) -> None:
        self._later: list[tuple[float, int, _Place]] = []
        self._ready: list[tuple[tuple[float, int], int, _Place]] = []
        self._numbers = count()
        self._left = 0

    def __len__(self) -> int:
        return len(self._later) + len(self._ready) - self._left

    def add(self, place: _Place) -> None:
        heappush(self._later, (place.due_at, next(self._numbers), place))

    def leave(self, place: _Place) -> None:
        """Take the document from its place, and forget such places when most are."""
        place.entry, self._left = None, self._left + 1
        if self._left > _FEW and self._left > len(self):
            self._later = [item for item in self._later if item[2].entry is not None]
            self._ready = [item for item in self._ready if item[2].entry is not None]
            heapify(self._later)
            heapify(self._ready)
            self._left = 0

    def find_first(self, now: float, excluded_ids: Collection[str]) -> _Place | None:
        """Return the place of the first document that may be claimed now."""
        while self._later and self._later[0][0] <= now:
            self._sort(heappop(self._later)[2], now)
        passed, first = [], None
        while self._ready and first is None:
            place = self._ready[0][2]
            if place.entry is None or not place.entry.is_claimable(now):
                self._sort(heappop(self._ready)[2], now)
            elif place.entry.document.id in excluded_ids:
                passed.append(heappop(self._ready))
            else:
                first = place
        for item in passed:
            heappush(self._ready, item)
        return first

    def _sort(self, place: _Place, now: float) -> None:
        """Put a place where it belongs now."""
        if place.entry is None:
            self._left -= 1
        elif place.entry.is_claimable(now):
            heappush(self._ready, (place.rank, next(self._numbers), place))
        else:
            place.due_at = place.entry.claimable_at
            self.add(place)


class ClaimOrder:
    """Order of the documents of a collection that workers may claim, now or later."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._places: dict[int, _Place] = {}  # by the numbers of the documents

    def put(self, entry: MemoryEntry) -> None:
        """Put a document in its place, after a change of the document or its lease."""
        document, number = entry.document, entry.number
        if document.due_at is None or document.is_closed:
            self.remove(entry)
            return
        rank, due_at = (document.due_at - document.priority * PRIORITY_AGEING, number), entry.claimable_at
        if (place := self._places.get(number)) is not None:
            if (place.name, place.rank) == (document.name, rank) and place.due_at <= due_at:
                return
            self.remove(entry)
        self._places[number] = place = _Place(entry, document.name, rank, due_at)
        if (line := self._lines.get(document.name)) is None:
            line = self._lines[document.name] = _Line()
        line.add(place)

    def remove(self, entry: MemoryEntry) -> None:
        """Take a document from its place, if it has any."""
        if (place := self._places.pop(entry.number, None)) is not None:
            (line := self._lines[place.name]).leave(place)
            if not len(line):
                del self._lines[place.name]

    def find_first(self, now: float, names: Collection[str], excluded_ids: Collection[str]) -> MemoryEntry | None:
        """Return the document that is claimed first now."""
        lines = (self._lines.get(name) for name in (set(names) or self._lines))
        places = (line.find_first(now, excluded_ids) for line in lines if line is not None)
        first = min((place for place in places if place is not None), key=lambda place: place.rank, default=None)
        return None if first is None else first.entry
