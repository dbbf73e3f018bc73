"""Events of the phases of an ensemble."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen


@frozen(kw_only=True)
class PhaseEvent(Event):
    """Base class of the events of a phase."""

    phase: str

    @property
    def span_key(self) -> str:
        """The name of the phase."""
        return self.phase


@frozen(kw_only=True)
class PhaseStarted(PhaseEvent):
    """Event of a phase whose tasks start, for the first time or once more."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.PHASE

    attempt: int

    def describe(self) -> str:
        """Return which phase starts."""
        return f"phase {self.phase!r} starts" + (f", attempt {self.attempt}" if self.attempt > 1 else "")

    def describe_span(self) -> SpanFacts:
        """Return the phase and the attempt."""
        return SpanFacts(self.phase, facts={"attempt": self.attempt})


@frozen(kw_only=True)
class PhaseResumed(PhaseEvent):
    """Event of a phase that goes on where it waited, or where it was interrupted."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.PHASE

    def describe(self) -> str:
        """Return which phase goes on."""
        return f"phase {self.phase!r} goes on"

    def describe_span(self) -> SpanFacts:
        """Return the phase."""
        return SpanFacts(self.phase)


@frozen(kw_only=True)
class PhaseReviewed(PhaseEvent):
    """Event of a decision on a phase: `"approve"`, `"retry"`, `"retry_predecessor"` or `"reject"`.

    `by` is the name of the person who decided, if it is known.
    """

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.PHASE
    content_fields: ClassVar[tuple[str, ...]] = ("feedback",)

    attempt: int
    decision: str
    feedback: str
    by: str | None = None

    def describe_span(self) -> SpanFacts:
        """Return the decision, which ends the attempt."""
        status = "completed" if self.decision == "approve" else self.decision
        return SpanFacts(
            status=status, facts={"decision": self.decision, "by": self.by}, content={"feedback": self.feedback}
        )

    def describe(self) -> str:
        """Return the decision."""
        line = f"phase {self.phase!r}, attempt {self.attempt}: {self.decision} {self.feedback}".rstrip()
        return line if self.by is None else f"{line}, by {self.by}"


@frozen(kw_only=True)
class PhaseCompleted(PhaseEvent):
    """Event of a phase whose outputs are accepted."""

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.PHASE

    attempt: int
    seconds: float

    def describe(self) -> str:
        """Return which phase is completed."""
        return f"phase {self.phase!r} is completed, {self.seconds:.2f} s"


@frozen(kw_only=True)
class PhaseFailed(PhaseEvent):
    """Event of a phase that failed. Those that come after it do not run."""

    usual_level: ClassVar[int] = logging.ERROR
    closes: ClassVar[str | None] = SpanKind.PHASE

    error: str

    def describe_span(self) -> SpanFacts:
        """Return why the phase failed."""
        return SpanFacts(status="failed", error=self.error)

    def describe(self) -> str:
        """Return which phase failed, and why."""
        return f"phase {self.phase!r} failed: {self.error}"
