"""Status of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RunStatus(StrEnum):
    """Status of a run. `COMPLETED`, `FAILED`, `TERMINATED` and `KILLED` are final.

    A run is `WAITING` for answers, `PAUSED` because somebody asked for it, `STUCK` without a plan, `RESTING` between
    two messages of its conversation, and `TERMINATED` by a limit.
    """

    NOT_STARTED = "not started"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TERMINATED = "terminated"
    KILLED = "killed"
    STUCK = "stuck"
    WAITING = "waiting"
    PAUSED = "paused"
    RESTING = "resting"

    @property
    def is_terminal(self) -> bool:
        """True when the run can never continue."""
        return self in TERMINAL

    @property
    def sentence(self) -> str:
        """The status as the end of a sentence about the run, such as `has failed`."""
        return _SENTENCES.get(self, f"is {self.value}")

    def may_become(self, other: RunStatus) -> bool:
        """Return whether a run with this status may get the other status."""
        return other in _TRANSITIONS.get(self, frozenset())


_S = RunStatus
_SENTENCES: Final = {
    _S.NOT_STARTED: "has not started",
    _S.COMPLETED: "has completed",
    _S.FAILED: "has failed",
    _S.TERMINATED: "was terminated",
    _S.KILLED: "was killed",
}
TERMINAL: Final = frozenset({_S.COMPLETED, _S.FAILED, _S.TERMINATED, _S.KILLED})
_RESTING = frozenset({_S.STUCK, _S.WAITING, _S.PAUSED, _S.RESTING})
_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    _S.NOT_STARTED: frozenset({_S.RUNNING, _S.KILLED}),
    _S.RUNNING: TERMINAL | _RESTING,
    **{resting: TERMINAL - {_S.COMPLETED} | {_S.RUNNING} for resting in _RESTING},  # `FAILED` when it cannot be saved
}
