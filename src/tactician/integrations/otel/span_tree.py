"""Spans that are open, and which of them the code that runs is in.

The span in which code runs is in its OpenTelemetry context, which tasks and threads inherit. So what instruments
others, such as an HTTP client, are its children too, and runs at the same time do not mix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from opentelemetry.context import Context, attach, create_key, get_current, get_value, set_value
from opentelemetry.trace import Link, Span, Tracer, get_current_span, set_span_in_context
from opentelemetry.trace import SpanKind as TraceSide
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import StatusCode

from tactician.events import Event
from tactician.events.span_facts import SpanKind
from tactician.events.spans import OpenSpan, OpenSpans
from tactician.frozen import frozen
from tactician.integrations.otel.attributes import Attributes, write_content
from tactician.integrations.otel.conventions import ERROR_TYPE
from tactician.runs.context.telemetry import join_trace, split_trace

_OPEN: Final = create_key("tactician-open-span")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_HEADER: Final = "traceparent"
_STATE: Final = "tracestate"
_MOST_RESTING: Final = 10_000


@dataclass(slots=True, eq=False, kw_only=True)
class TracedSpan(OpenSpan):
    """Span of OpenTelemetry that has begun.

    Attributes:
        span: the span.
        began: time at which it began.
        attributes: the attributes that it began with.
        before: context in which it began.
        inside: context of what is inside it.
        tools: descriptions of the tools of the latest turn of a run, by name.
    """

    span: Span
    began: float
    attributes: Attributes
    before: Context
    inside: Context = field(default_factory=Context)
    tools: dict[str, str] = field(default_factory=dict)


@frozen(kw_only=True)
class Opening:
    """Description of a span that begins.

    Attributes:
        name: name of the span.
        attributes: attributes to begin with.
        side: side of a call that the program is on.
        trace_parent: trace context that the run was kept with, for a run inside no other.
    """

    name: str
    attributes: Attributes
    side: TraceSide = TraceSide.INTERNAL
    trace_parent: str | None = None


class SpanTree:
    """The open spans of a tracer.

    Args:
        tracer: the tracer.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: OpenSpans[TracedSpan] = OpenSpans()
        self._resting: dict[str, str] = {}

    def start(self, event: Event, opening: Opening) -> TracedSpan:
        """Begin a span at the time of its opening event."""
        before, kind = get_current(), event.opens or ""
        parent = self._open.find_around(event)
        context = before if parent is None else set_span_in_context(parent.span, before)
        context, links = self._continue_trace(event, opening, context)
        span = self._tracer.start_span(
            opening.name, context, opening.side, opening.attributes, links, start_time=_to_nanoseconds(event.time)
        )
        begun = TracedSpan(
            id=event.id,
            run_id=event.run_id,
            kind=kind,
            key=event.span_key,
            parent=parent,
            span=span,
            began=event.time,
            attributes=opening.attributes,
            before=before,
        )
        begun.inside = set_value(_OPEN, begun, set_span_in_context(span, before))
        self._open.add(begun)
        if kind == SpanKind.RUN:
            _runs[event.run_id] = begun
        if event.enters:
            attach(begun.inside)
        return begun

    def find_run(self, run_id: str) -> TracedSpan | None:
        """Return the open span of a run."""
        return self._open.find(run_id, SpanKind.RUN)

    def find_closed_by(self, event: Event) -> TracedSpan | None:
        """Return the open span that an event closes."""
        return self._open.find_closed_by(event)

    def find_around(self, event: Event) -> TracedSpan | None:
        """Return the open span in which an event happens."""
        return self._open.find_around(event)

    def end(
        self, event: Event, begun: TracedSpan, attributes: Mapping[str, object], error: str | None, detail: str | None
    ) -> None:
        """End a span at the time of an event, with what is still open inside it, and leave it.

        Args:
            event: the event.
            begun: the span.
            attributes: further attributes.
            error: class of the error, if it failed.
            detail: message of the error, where that may be exported.
        """
        begun.span.set_attributes(attributes)  # type: ignore[arg-type]  # tuples are sequences
        if error is not None:
            begun.span.set_attribute(ERROR_TYPE, error)
            begun.span.set_status(StatusCode.ERROR, None if detail is None else write_content(detail))
        for ended in self._open.remove(begun):
            ended.span.end(_to_nanoseconds(event.time))
        while (innermost := _get_innermost(get_current())) is not None and innermost.is_ended:
            attach(innermost.before)

    def note_rest(self, run_id: str, begun: TracedSpan) -> None:
        """Remember the trace of a run that waits, for when it continues in this program without a record of its own."""
        while len(self._resting) >= _MOST_RESTING:
            del self._resting[next(iter(self._resting))]
        if (parent := _format_trace_parent(begun.inside)) is not None:
            self._resting[run_id] = parent

    def _continue_trace(self, event: Event, opening: Opening, context: Context) -> tuple[Context, list[Link]]:
        """Return the context of the trace that a run belongs to, and a link to the code that runs, if in another."""
        rested = self._resting.pop(event.run_id, None) if event.opens == SpanKind.RUN else None
        parent = opening.trace_parent or rested
        if parent is None:
            return context, []
        going_on = _PROPAGATOR.extract(dict(zip((_HEADER, _STATE), split_trace(parent), strict=True)), context)
        theirs, ours = (get_current_span(each).get_span_context() for each in (going_on, context))
        if not ours.is_valid or theirs.trace_id == ours.trace_id:
            return (context if ours.is_valid else going_on), []
        return going_on, [Link(ours)]


def _get_innermost(context: Context) -> TracedSpan | None:
    """Return the innermost of our spans in a context, which may have ended."""
    value = get_value(_OPEN, context)
    return value if isinstance(value, TracedSpan) else None


_runs: Final[WeakValueDictionary[str, TracedSpan]] = WeakValueDictionary()


def find_run_trace(run_id: str) -> str | None:
    """Return the trace context of a run, or the running code's, if the run has no span."""
    begun = _runs.get(run_id)
    return _format_trace_parent(get_current() if begun is None or begun.is_ended else begun.inside)


def _format_trace_parent(context: Context) -> str | None:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context)
    return join_trace(carrier.get(_HEADER), carrier.get(_STATE))


def _to_nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
