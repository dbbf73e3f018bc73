"""Events of the tasks of an ensemble."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import Usage
from tactician.llm.usage import NO_USAGE


@frozen(kw_only=True)
class TaskEvent(Event):
    """Base class of the events of a task."""

    task_id: str

    @property
    def span_key(self) -> str:
        """The id of the task."""
        return self.task_id


@frozen(kw_only=True)
class TaskStarted(TaskEvent):
    """Event of a task that starts; `role` is its agent's role."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.TASK

    role: str

    def describe(self) -> str:
        """Return which task starts."""
        return f"task {self.task_id!r} starts"

    def describe_span(self) -> SpanFacts:
        """Return the task and its role."""
        return SpanFacts(self.task_id, facts={"role": self.role})


@frozen(kw_only=True)
class TaskResumed(TaskEvent):
    """Event of a task that goes on where it waited, or where it was interrupted."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.TASK

    role: str

    def describe(self) -> str:
        """Return which task goes on."""
        return f"task {self.task_id!r} goes on"

    def describe_span(self) -> SpanFacts:
        """Return the task and its role."""
        return SpanFacts(self.task_id, facts={"role": self.role})


@frozen(kw_only=True)
class TaskSuspended(TaskEvent):
    """Event of a task that waits for answers; `prompts` says for which."""

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.TASK
    content_fields: ClassVar[tuple[str, ...]] = ("prompts",)

    role: str
    prompts: str

    def describe(self) -> str:
        """Return which task waits."""
        return f"task {self.task_id!r} waits"

    def describe_span(self) -> SpanFacts:
        """Return what the task waits for."""
        return SpanFacts(status="waiting", content={"waits for": self.prompts})


@frozen(kw_only=True)
class TaskRestored(TaskEvent):
    """Event of a task that was completed before the run goes on; `ended` is when, in seconds since the epoch."""

    opens: ClassVar[str | None] = SpanKind.TASK
    closes: ClassVar[str | None] = SpanKind.TASK
    content_fields: ClassVar[tuple[str, ...]] = ("raw",)

    role: str
    raw: str
    seconds: float
    ended: float
    tool_calls: int = 0
    usage: Usage = NO_USAGE

    def describe(self) -> str:
        """Return which task was completed before."""
        return f"task {self.task_id!r} was completed before"

    def describe_span(self) -> SpanFacts:
        """Return the times, the usage and the output of the task."""
        used = {"usage": self.usage} if self.usage != NO_USAGE else {}
        facts = {"role": self.role, "tool_calls": self.tool_calls, **used}
        began = self.ended - self.seconds
        return SpanFacts(self.task_id, started=began, ended=self.ended, facts=facts, content={"output": self.raw})


@frozen(kw_only=True)
class TaskCompleted(TaskEvent):
    """Event of a task that has its output."""

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.TASK
    content_fields: ClassVar[tuple[str, ...]] = ("raw",)

    role: str
    raw: str
    seconds: float
    tool_calls: int = 0

    def describe(self) -> str:
        """Return which task is completed."""
        return f"task {self.task_id!r} is completed, {self.seconds:.2f} s, {self.tool_calls} tool calls"

    def describe_span(self) -> SpanFacts:
        """Return the output of the task."""
        return SpanFacts(status="completed", facts={"tool_calls": self.tool_calls}, content={"output": self.raw})


@frozen(kw_only=True)
class TaskSkipped(TaskEvent):
    """Event of a task that does not run because of its `when`, or because all its context tasks were skipped."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.TASK
    closes: ClassVar[str | None] = SpanKind.TASK

    reason: str

    def describe(self) -> str:
        """Return which task is skipped, and why."""
        return f"task {self.task_id!r} is skipped: {self.reason}"

    def describe_span(self) -> SpanFacts:
        """Return why the task was skipped."""
        return SpanFacts(self.task_id, status="skipped", facts={"reason": self.reason})


@frozen(kw_only=True)
class TaskFailed(TaskEvent):
    """Event of a task that raised `error`."""

    usual_level: ClassVar[int] = logging.ERROR
    closes: ClassVar[str | None] = SpanKind.TASK

    role: str
    error: str

    def describe_span(self) -> SpanFacts:
        """Return why the task failed."""
        return SpanFacts(status="failed", error=self.error)

    def describe(self) -> str:
        """Return which task failed, and why."""
        return f"task {self.task_id!r} failed: {self.error}"


@frozen(kw_only=True)
class TaskReflected(TaskEvent):
    """Event of a reflection on the output of a task, whose notes later runs read. After a failure it has an `error`."""

    content_fields: ClassVar[tuple[str, ...]] = ("notes",)

    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def level(self) -> int:
        """Level `WARNING` after a failure, else `DEBUG`."""
        return logging.DEBUG if self.error is None else logging.WARNING

    def describe(self) -> str:
        """Return the number of notes, or the reason for their lack."""
        if self.error is not None:
            return f"task {self.task_id!r}: {self.error}"
        return f"task {self.task_id!r} leaves {format_count(len(self.notes), 'note')} for later runs"
