"""Events of the tasks of an ensemble."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(Event):
    """Event of a task that starts; `role` is that of its agent."""

    usual_level: ClassVar[int] = logging.INFO

    task_id: str
    role: str

    def describe(self) -> str:
        """Return which task starts."""
        return f"task {self.task_id!r} starts"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompleted(Event):
    """Event of a task that has its output."""

    usual_level: ClassVar[int] = logging.INFO

    task_id: str
    role: str
    raw: str
    seconds: float
    tool_calls: int = 0

    def describe(self) -> str:
        """Return which task is completed."""
        return f"task {self.task_id!r} is completed, {self.seconds:.2f} s, {self.tool_calls} tool calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSkipped(Event):
    """Event of a task that does not run because of its `when`, or because all its context tasks were skipped."""

    usual_level: ClassVar[int] = logging.INFO

    task_id: str
    reason: str

    def describe(self) -> str:
        """Return which task is skipped, and why."""
        return f"task {self.task_id!r} is skipped: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed(Event):
    """Event of a task that raised `error`."""

    task_id: str
    role: str
    error: str

    @property
    def level(self) -> int:
        """Level `ERROR`."""
        return logging.ERROR

    def describe(self) -> str:
        """Return which task failed, and why."""
        return f"task {self.task_id!r} failed: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationStarted(Event):
    """Event of a manager that asks for a delegation to the worker `role`, also of one that is refused then."""

    usual_level: ClassVar[int] = logging.INFO

    delegation_id: str
    role: str
    task: str

    def describe(self) -> str:
        """Return to whom a task is delegated."""
        return f"delegates to {self.role}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationCompleted(Event):
    """Event of a worker that has its output."""

    usual_level: ClassVar[int] = logging.INFO

    delegation_id: str
    role: str
    seconds: float

    def describe(self) -> str:
        """Return which worker is done."""
        return f"{self.role} is done, {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationFailed(Event):
    """Event of a delegation that was refused, or whose worker failed."""

    delegation_id: str
    role: str
    error: str

    @property
    def level(self) -> int:
        """Level `WARNING`."""
        return logging.WARNING

    def describe(self) -> str:
        """Return which delegation failed, and why."""
        return f"the delegation to {self.role} failed: {self.error}"
