"""What a process has done."""

from __future__ import annotations

from dataclasses import dataclass, field

from tactician.llm import Usage, UsageTally


@dataclass(frozen=True, slots=True)
class ActionRun:
    """One entry of a process's history.

    Attributes:
        started_at: seconds since the epoch.
        seconds: how long it took, with all its attempts.
        tally: what its model calls used.
        outputs: the names of the types that it gave.
        error: what it raised, as text; `None` when it succeeded.
        attempts: how often it was tried.
    """

    action: str
    started_at: float
    seconds: float
    tally: UsageTally = field(repr=False)
    outputs: tuple[str, ...] = ()
    error: str | None = None
    attempts: int = 1

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of its model calls; `None` when a price is not known."""
        return self.usage.cost
