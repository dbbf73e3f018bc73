"""How a process is run."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.runs import Budget

# A process that a model steers should not be able to spend without an end.
DEFAULT_BUDGET = Budget(actions=50, tokens=1_000_000, cost=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How to run a process.

    Attributes:
        budget: how far it may go: by default 50 actions, a million tokens and 2 US dollars.
    """

    budget: Budget = DEFAULT_BUDGET
