"""Events of tasks of agents of other programs."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.frozen import frozen


@frozen(kw_only=True)
class RemoteTaskChanged(Event):
    """Event of a new state of a task of a remote agent, such as `"working"` or `"input required"`."""

    usual_level: ClassVar[int] = logging.INFO

    remote: str
    task_id: str
    state: str

    def describe(self) -> str:
        """Return the state of the task."""
        return f"the task {self.task_id} of {self.remote} is {self.state}"
