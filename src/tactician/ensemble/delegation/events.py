"""Events of the delegations between the agents of an ensemble."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen


@frozen(kw_only=True)
class DelegationEvent(Event):
    """Base class of the events of a delegation: of the agent `delegator`, to the worker `role`."""

    delegation_id: str
    delegator: str
    role: str

    @property
    def span_key(self) -> str:
        """The id of the delegation."""
        return self.delegation_id


@frozen(kw_only=True)
class DelegationStarted(DelegationEvent):
    """Event of the agent `delegator` that asks for a delegation to the worker `role`, also when it is refused."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("task",)

    opens: ClassVar[str | None] = SpanKind.DELEGATION

    task: str
    priority: str = "normal"
    depth: int = 1

    def describe(self) -> str:
        """Return to whom a task is delegated."""
        return f"{self.delegator} delegates to {self.role}"

    def describe_span(self) -> SpanFacts:
        """Return the worker and its task."""
        return SpanFacts(self.role, content={"task": self.task})


@frozen(kw_only=True)
class DelegationCompleted(DelegationEvent):
    """Event of a worker that has its output."""

    usual_level: ClassVar[int] = logging.INFO

    closes: ClassVar[str | None] = SpanKind.DELEGATION

    seconds: float
    status: str = "success"

    def describe(self) -> str:
        """Return which worker is done."""
        return f"{self.role} is done, {self.seconds:.2f} s"


@frozen(kw_only=True)
class DelegationFailed(DelegationEvent):
    """Event of a delegation that was refused, or whose worker failed."""

    usual_level: ClassVar[int] = logging.WARNING
    closes: ClassVar[str | None] = SpanKind.DELEGATION

    error: str

    def describe_span(self) -> SpanFacts:
        """Return why the delegation failed."""
        return SpanFacts(status="failed", error=self.error)

    def describe(self) -> str:
        """Return which delegation failed, and why."""
        return f"the delegation to {self.role} failed: {self.error}"
