"""Events of reviews."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested(Event):
    """Event of a gate that waits for a decision; `timing` is `"before"` or `"after"` the task."""

    usual_level: ClassVar[int] = logging.INFO

    task_id: str
    timing: str
    required_role: str | None = None

    def describe(self) -> str:
        """Return which task is reviewed."""
        return f"task {self.task_id!r} waits for a review {self.timing} it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecided(Event):
    """Event of a gate with a decision, by whom if that is known; `timed_out` is true when nobody decided in time."""

    usual_level: ClassVar[int] = logging.INFO

    task_id: str
    timing: str
    decision: str
    by: str | None = None
    feedback: str = ""
    timed_out: bool = False

    def describe(self) -> str:
        """Return the decision."""
        who = "nobody in time" if self.timed_out else self.by or "a reviewer"
        return f"review {self.timing} task {self.task_id!r}: {self.decision}, by {who}"
