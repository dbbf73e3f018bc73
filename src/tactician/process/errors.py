"""Errors of processes: each carries the process."""

from __future__ import annotations

from tactician.errors import TacticianError
from tactician.process.handle import ProcessHandle


class ProcessError(TacticianError):
    """A process did not reach its goal. `process` holds its status, history and blackboard."""

    def __init__(self, message: str, process: ProcessHandle) -> None:
        super().__init__(message)
        self.process = process


class ProcessFailedError(ProcessError):
    """An action of the process raised; the exception is this error's cause."""


class ProcessWaitingError(ProcessError):
    """The process waits for somebody: `process.pending` says for what. Answer with `Platform.respond`."""


class ProcessStuckError(ProcessError):
    """No plan reaches a goal from what the blackboard holds. A rejection that is the reason is the cause."""
