"""Events of the tasks of an ensemble."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar

from tactician.events import Event, SpanFacts, SpanKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(Event):
    """Event of a task that starts; `role` is that of its agent."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.TASK

    task_id: str
    role: str

    @property
    def span_key(self) -> str:
        """The id of the task."""
        return self.task_id

    def describe(self) -> str:
        """Return which task starts."""
        return f"task {self.task_id!r} starts"

    def describe_span(self) -> SpanFacts:
        """Return the task and its role."""
        return SpanFacts(self.task_id, facts={"role": self.role})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompleted(Event):
    """Event of a task that has its output."""

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.TASK

    task_id: str
    role: str
    raw: str
    seconds: float
    tool_calls: int = 0

    @property
    def span_key(self) -> str:
        """The id of the task."""
        return self.task_id

    def describe(self) -> str:
        """Return which task is completed."""
        return f"task {self.task_id!r} is completed, {self.seconds:.2f} s, {self.tool_calls} tool calls"

    def describe_span(self) -> SpanFacts:
        """Return the output of the task."""
        return SpanFacts(status="completed", facts={"tool_calls": self.tool_calls}, content={"output": self.raw})


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

    closes: ClassVar[str | None] = SpanKind.TASK

    task_id: str
    role: str
    error: str

    @property
    def span_key(self) -> str:
        """The id of the task."""
        return self.task_id

    def describe_span(self) -> SpanFacts:
        """Return why the task failed."""
        return SpanFacts(status="failed", error=self.error)

    @property
    def level(self) -> int:
        """Level `ERROR`."""
        return logging.ERROR

    def describe(self) -> str:
        """Return which task failed, and why."""
        return f"task {self.task_id!r} failed: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(Event):
    """Event of a phase whose tasks start, for the first time or once more."""

    usual_level: ClassVar[int] = logging.INFO

    phase: str
    attempt: int

    def describe(self) -> str:
        """Return which phase starts."""
        return f"phase {self.phase!r} starts" + (f", attempt {self.attempt}" if self.attempt > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReviewed(Event):
    """Event of a decision on a phase: `"approve"`, `"retry"`, `"retry_predecessor"` or `"reject"`."""

    usual_level: ClassVar[int] = logging.INFO

    phase: str
    attempt: int
    decision: str
    feedback: str

    def describe(self) -> str:
        """Return the decision."""
        return f"phase {self.phase!r}, attempt {self.attempt}: {self.decision} {self.feedback}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseCompleted(Event):
    """Event of a phase whose outputs are accepted."""

    usual_level: ClassVar[int] = logging.INFO

    phase: str
    attempt: int
    seconds: float

    def describe(self) -> str:
        """Return which phase is completed."""
        return f"phase {self.phase!r} is completed, {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFailed(Event):
    """Event of a phase that failed. Those that come after it do not run."""

    phase: str
    error: str

    @property
    def level(self) -> int:
        """Level `ERROR`."""
        return logging.ERROR

    def describe(self) -> str:
        """Return which phase failed, and why."""
        return f"phase {self.phase!r} failed: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationStarted(Event):
    """Event of the agent `delegator` that asks for a delegation to the worker `role`, also of one that is refused."""

    usual_level: ClassVar[int] = logging.INFO

    opens: ClassVar[str | None] = SpanKind.DELEGATION

    delegation_id: str
    delegator: str
    role: str
    task: str
    priority: str = "normal"
    depth: int = 1

    @property
    def span_key(self) -> str:
        """The id of the delegation."""
        return self.delegation_id

    def describe(self) -> str:
        """Return to whom a task is delegated."""
        return f"{self.delegator} delegates to {self.role}"

    def describe_span(self) -> SpanFacts:
        """Return the worker and its task."""
        return SpanFacts(self.role, content={"task": self.task})


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationCompleted(Event):
    """Event of a worker that has its output."""

    usual_level: ClassVar[int] = logging.INFO

    closes: ClassVar[str | None] = SpanKind.DELEGATION

    delegation_id: str
    delegator: str
    role: str
    seconds: float
    status: str = "success"

    @property
    def span_key(self) -> str:
        """The id of the delegation."""
        return self.delegation_id

    def describe(self) -> str:
        """Return which worker is done."""
        return f"{self.role} is done, {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationFailed(Event):
    """Event of a delegation that was refused, or whose worker failed."""

    closes: ClassVar[str | None] = SpanKind.DELEGATION

    delegation_id: str
    delegator: str
    role: str
    error: str

    @property
    def span_key(self) -> str:
        """The id of the delegation."""
        return self.delegation_id

    def describe_span(self) -> SpanFacts:
        """Return why the delegation failed."""
        return SpanFacts(status="failed", error=self.error)

    @property
    def level(self) -> int:
        """Level `WARNING`."""
        return logging.WARNING

    def describe(self) -> str:
        """Return which delegation failed, and why."""
        return f"the delegation to {self.role} failed: {self.error}"
