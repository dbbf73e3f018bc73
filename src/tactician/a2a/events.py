"""Events of tasks of agents of other programs."""

from __future__ import annotations

import logging
from typing import ClassVar, Final

from tactician.events import Event
from tactician.frozen import frozen

_SENTENCES: Final = {
    "completed": "has completed",
    "failed": "has failed",
    "rejected": "was rejected",
    "canceled": "was canceled",
    "submitted": "was submitted",
}


def complete_state(state: str) -> str:
    """Return the state of a task as the end of a sentence about the task, such as `has failed`."""
    return _SENTENCES.get(state, f"is {state}")


@frozen(kw_only=True)
class RemoteTaskChanged(Event):
    """Event of a new state of a task of a remote agent, such as `"working"` or `"input required"`."""

    usual_level: ClassVar[int] = logging.INFO

    remote: str
    task_id: str
    state: str

    def describe(self) -> str:
        """Return the state of the task."""
        return f"the task {self.task_id} of {self.remote} {complete_state(self.state)}"
