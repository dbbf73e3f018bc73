"""Events of reviews."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen


@frozen(kw_only=True)
class ReviewEvent(Event):
    """Base class of the events of a review; `timing` is `"before"` or `"after"` the task."""

    task_id: str
    timing: str

    @property
    def span_key(self) -> str:
        """The task and the timing."""
        return f"{self.task_id}/{self.timing}"


@frozen(kw_only=True)
class ReviewRequested(ReviewEvent):
    """Event of a gate that waits for a decision; `timing` is `"before"` or `"after"` the task."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.REVIEW

    required_role: str | None = None

    def describe(self) -> str:
        """Return which task is reviewed."""
        return f"task {self.task_id!r} waits for a review {self.timing} it"

    def describe_span(self) -> SpanFacts:
        """Return which task is reviewed, and who may decide."""
        return SpanFacts(f"{self.timing} {self.task_id}", facts={"role": self.required_role})


@frozen(kw_only=True)
class ReviewDecided(ReviewEvent):
    """Event of a gate with a decision, by whom if that is known; `timed_out` is true when nobody decided in time."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.REVIEW  # of a review that was requested in another process
    closes: ClassVar[str | None] = SpanKind.REVIEW
    content_fields: ClassVar[tuple[str, ...]] = ("feedback",)

    decision: str
    by: str | None = None
    feedback: str = ""
    timed_out: bool = False

    def describe(self) -> str:
        """Return the decision."""
        who = "nobody in time" if self.timed_out else self.by or "a reviewer"
        return f"review {self.timing} task {self.task_id!r}: {self.decision}, by {who}"

    def describe_span(self) -> SpanFacts:
        """Return the decision, and who made it."""
        facts = {"decision": self.decision, "by": self.by, "timed_out": self.timed_out}
        name, content = f"{self.timing} {self.task_id}", {"feedback": self.feedback}
        return SpanFacts(name, status="completed", facts=facts, content=content)
