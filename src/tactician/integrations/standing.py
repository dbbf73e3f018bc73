"""How a process stands after one of its steps: all that an engine is told. This module imports nothing of the rest."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Standing:
    """How a process stands. There are only names and times in it: its objects stay in the store.

    Attributes:
        status: where it stands.
        has_ended: whether no further step is of use.
        pending: the ids of the requests that it waits for; empty when it does not wait.
        refused: those whose last answer did not fit.
        wakes_at: when the first of their deadlines passes, in seconds since the epoch.
    """

    status: str
    has_ended: bool = False
    pending: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    wakes_at: float | None = None
