"""The states of a process, and which may follow which."""

from __future__ import annotations

from enum import StrEnum


class ProcessStatus(StrEnum):
    """Where a process stands. `COMPLETED`, `FAILED`, `TERMINATED` and `KILLED` are final."""

    NOT_STARTED = "not started"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"
    KILLED = "killed"
    STUCK = "stuck"
    WAITING = "waiting"
    PAUSED = "paused"

    @property
    def is_terminal(self) -> bool:
        """Whether the process can never run again."""
        return self in TERMINAL

    def may_become(self, other: ProcessStatus) -> bool:
        """Whether a process in this state may go over to the other one."""
        return other in _TRANSITIONS.get(self, frozenset())


_S = ProcessStatus
TERMINAL = frozenset({_S.COMPLETED, _S.FAILED, _S.TERMINATED, _S.KILLED})
_RESTING = frozenset({_S.STUCK, _S.WAITING, _S.PAUSED})
_TRANSITIONS: dict[ProcessStatus, frozenset[ProcessStatus]] = {
    _S.NOT_STARTED: frozenset({_S.RUNNING, _S.KILLED}),
    _S.RUNNING: TERMINAL | _RESTING,
    **{resting: frozenset({_S.RUNNING, _S.KILLED, _S.TERMINATED}) for resting in _RESTING},
}
