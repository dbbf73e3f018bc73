"""The errors of processes: each carries the process."""

from __future__ import annotations

from typing import Protocol

from tactician.errors import TacticianError
from tactician.process.blackboard import Blackboard
from tactician.process.history import ActionRun
from tactician.process.status import ProcessStatus
from tactician.runs import PendingRequest


class ProcessOutcome(Protocol):
    """A process as an error carries it: how it ended, and what it had done."""

    @property
    def id(self) -> str:
        """The id of the process."""
        ...

    @property
    def status(self) -> ProcessStatus:
        """How it stands."""
        ...

    @property
    def failure(self) -> str | None:
        """Why it failed, is stuck, or was ended early."""
        ...

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that it ran, oldest first."""
        ...

    @property
    def blackboard(self) -> Blackboard:
        """What it knew."""
        ...

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """What it waits for."""
        ...


class ProcessError(TacticianError):
    """A process did not reach its goal. `process` holds its status, history and blackboard."""

    def __init__(self, message: str, process: ProcessOutcome) -> None:
        super().__init__(message)
        self.process = process


class ProcessFailedError(ProcessError):
    """An action of the process raised; the exception is this error's cause."""


class ProcessWaitingError(ProcessError):
    """The process waits for somebody: `process.pending` says for what. Answer with `Platform.respond`."""


class ProcessStuckError(ProcessError):
    """No plan reaches a goal from what the blackboard holds. A rejection that is the reason is the cause."""
