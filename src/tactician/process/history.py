"""What a process has done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tactician.llm import Usage, UsageTally
from tactician.process.status import ProcessStatus

if TYPE_CHECKING:
    from tactician.process.view import ProcessView


@dataclass(frozen=True, slots=True)
class ActionRun:
    """One entry of a process's history.

    Attributes:
        started_at: seconds since the epoch.
        seconds: how long it took, with all its attempts.
        tally: what its model calls used.
        outputs: the names of the types that it gave.
        error: what it raised, as text; `None` when it succeeded. After `Replan: ...` the process went on.
        attempts: how often it was tried.
        children: the processes that ran inside it.
    """

    action: str
    started_at: float
    seconds: float
    tally: UsageTally = field(repr=False)
    outputs: tuple[str, ...] = ()
    error: str | None = None
    attempts: int = 1
    children: tuple[ChildRun, ...] = ()

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of its model calls; `None` when a price is not known."""
        return self.usage.cost


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A process that ran inside an action.

    Attributes:
        id: its id, which its events carry as `run_id`.
        agent: the name of its agent.
        status: how it ended.
        failure: why it failed, is stuck, or was ended early.
        history: the actions that it ran, oldest first.
    """

    id: str
    agent: str
    status: ProcessStatus
    failure: str | None = None
    history: tuple[ActionRun, ...] = ()

    @classmethod
    def of(cls, process: ProcessView) -> ChildRun:
        """The process as it is now."""
        return cls(process.id, process.agent.name, process.status, process.failure, process.history)
