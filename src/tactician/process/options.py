"""How far a process may go."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.llm import UsageTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one process, checked before each action. `None` is no limit.

    Attributes:
        actions: how many actions may run.
        tokens: how many tokens may be used, input and output together.
        cost: how many US dollars may be spent, as far as prices are known.
    """

    actions: int | None = 50
    tokens: int | None = 1_000_000
    cost: float | None = 2.0

    def exceeded(self, actions: int, tally: UsageTally) -> str | None:
        """Which limit is reached, in words; `None` when there is room."""
        if self.actions is not None and actions >= self.actions:
            return f"the budget of {self.actions} actions is used up"
        if not tally.by_model:
            return None
        if self.tokens is not None and (used := tally.total.total_tokens) >= self.tokens:
            return f"the budget of {self.tokens:,} tokens is used up ({used:,} used)"
        if self.cost is not None and (spent := tally.known_cost) >= self.cost:
            return f"the budget of ${self.cost:.2f} is used up (${spent:.4f} spent)"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How to run a process."""

    budget: Budget = Budget()
