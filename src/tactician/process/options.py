"""How a process is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tactician.process.retrying import DEFAULT_RETRIES, RetryPolicy
from tactician.runs import Budget

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

# A process that a model steers should not be able to spend without an end.
DEFAULT_BUDGET = Budget(actions=50, tokens=1_000_000, cost=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How to run a process.

    Attributes:
        budget: how far it may go, with all that runs inside it: 50 actions, a million tokens and 2 US dollars, by
            default.
        context_id: what processes with the same id have found out, the next one begins with; nothing, when `None`.
        max_parallel: how many actions may run at once, where their order does not matter.
        retry: how often an action is tried that does not say so itself.
        delay: seconds between two actions, at least.
        terminate_when: asked before each action; what it returns, if anything, is why the process is terminated.
    """

    budget: Budget = DEFAULT_BUDGET
    context_id: str | None = None
    max_parallel: int = 1
    retry: RetryPolicy = DEFAULT_RETRIES
    delay: float = 0.0
    terminate_when: Callable[[AgentProcess], str | None] | None = None
