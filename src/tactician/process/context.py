"""What an action can reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tactician.ai import Ai
from tactician.errors import ConfigurationError
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


_current: ContextVar[OperationContext] = ContextVar("the action that runs")


@contextmanager
def operating(operation: OperationContext) -> Iterator[None]:
    """Lets what an action runs know of the action."""
    token = _current.set(operation)
    try:
        yield
    finally:
        _current.reset(token)


def operation_in(run: RunContext) -> OperationContext:
    """The action that runs now, in the context of a run inside it.

    Raises:
        ConfigurationError: outside of actions.
    """
    operation = _current.get(None)
    if operation is None:
        raise ConfigurationError("There is an OperationContext only inside an action of a planned agent.")
    return replace(operation, run=run)
