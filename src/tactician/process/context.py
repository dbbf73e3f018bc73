"""What an action can reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tactician.ai import Ai
from tactician.process.blackboard import Blackboard
from tactician.runs import RunContext

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


@dataclass(frozen=True, slots=True)
class OperationContext:
    """Passed to an action or a condition that has a parameter of this type."""

    process: AgentProcess
    run: RunContext
    idempotency_key: str = ""
    """The same for every attempt of this run of the action, also in another process: for services that take one."""

    @property
    def blackboard(self) -> Blackboard:
        """All that the process knows so far."""
        return self.process.blackboard

    @property
    def ai(self) -> Ai:
        """The models of the platform; what they use is counted for this action."""
        return Ai(self.run)
