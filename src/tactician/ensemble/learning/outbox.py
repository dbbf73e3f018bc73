"""Outbox: what tasks leave for later runs, until the review of their phase has accepted it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from tactician.ensemble.learning.scopes import ScopeEntry
from tactician.frozen import frozen


@frozen
class Parcel:
    """Entries and reflections that a task leaves for later runs.

    Attributes:
        place: the place of the task in the run; another parcel from there takes its place.
        entries: the entries for memory scopes, with the names of these.
        deliver: function that writes the entries, and reflects. A second call changes nothing.
    """

    place: str
    entries: tuple[tuple[str, ScopeEntry], ...]
    deliver: Callable[[], Awaitable[None]]


class LearningOutbox:
    """Parcels of tasks for later runs: each is delivered at once, or held until somebody accepts their work.

    Args:
        holds: true to hold it.
        around: the outbox to which what was held goes; `None` delivers it.
    """

    def __init__(self, *, holds: bool, around: LearningOutbox | None = None) -> None:
        self.holds: bool = holds or (around is not None and around.holds)
        self._around = around
        self._parcels: dict[str, Parcel] = {}

    async def put(self, parcel: Parcel) -> None:
        """Deliver a parcel, or hold it."""
        if self.holds:
            self._parcels[parcel.place] = parcel
        else:
            await parcel.deliver()

    def withdraw(self, place: str) -> None:
        """Drop what was held for tasks inside of a task, which is done again."""
        self._parcels = {at: parcel for at, parcel in self._parcels.items() if not at.startswith(f"{place}/")}

    def list_entries(self, scope: str) -> list[ScopeEntry]:
        """Return the entries for a scope that are held, newest first: tasks of the same run read them already."""
        scope_entries = [entry for parcel in self._parcels.values() for name, entry in parcel.entries if name == scope]
        return [*reversed(scope_entries), *(() if self._around is None else self._around.list_entries(scope))]

    async def deliver(self) -> None:
        """Deliver what is held. It stays, since a run that is interrupted meanwhile delivers all of it again."""
        for parcel in tuple(self._parcels.values()):
            if self._around is None:
                await parcel.deliver()
            else:
                await self._around.put(parcel)


AT_ONCE: Final = LearningOutbox(holds=False)
"""The outbox of tasks whose work nobody reviews as a whole."""
