"""Spans that are open, and which of them the code that runs is in.

The span in which code runs is in its OpenTelemetry context, which tasks and threads inherit. So what instruments
others, such as an HTTP client, are its children too, and runs at the same time do not mix.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from opentelemetry.context import Context, attach, create_key, get_current, get_value, set_value
from opentelemetry.trace import Link, Span, SpanKind, Tracer, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import StatusCode

from tactician.events import Event
from tactician.integrations.otel.attributes import Attributes
from tactician.integrations.otel.conventions import ERROR_TYPE

Key: TypeAlias = tuple[str, Hashable]
"""What is open in a run: the kind, and what tells it from others of the kind."""
RUN: Final[Key] = ("run", "")
_OPEN: Final = create_key("tactician-open-span")
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_HEADER: Final = "traceparent"
_MOST_RESTING: Final = 10_000


@dataclass(slots=True, eq=False, weakref_slot=True)
class OpenSpan:
    """Span that has begun.

    Attributes:
        span: the span.
        run_id: the run that it belongs to.
        key: what it is in the run.
        began: time at which it began.
        attributes: the attributes that it began with.
        around: the span that it is in.
        before: context in which it began.
        inside: context of what is inside it.
        children: open spans inside it that cannot outlast it.
        is_ended: true once it has ended.
    """

    span: Span
    run_id: str
    key: Key
    began: float
    attributes: Attributes
    around: OpenSpan | None
    before: Context
    inside: Context = field(default_factory=Context)
    children: list[OpenSpan] = field(default_factory=list)
    is_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """Description of a span that begins.

    Attributes:
        key: what it is in the run.
        name: name of the span.
        attributes: attributes to begin with.
        kind: kind of span.
        trace_parent: trace context that the run was kept with, for a run inside no other.
        is_entered: true when the code that runs is in it until it ends.
    """

    key: Key
    name: str
    attributes: Attributes
    kind: SpanKind = SpanKind.INTERNAL
    trace_parent: str | None = None
    is_entered: bool = True


class SpanTree:
    """The open spans of a tracer.

    Args:
        tracer: the tracer.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open: dict[str, list[OpenSpan]] = {}
        self._resting: dict[str, str] = {}

    def start(self, event: Event, opening: Opening) -> OpenSpan:
        """Begin a span at the time of an event."""
        before = get_current()
        around = self._find_around(event, before)
        context = before if around is None else set_span_in_context(around.span, before)
        context, links = self._continue_trace(event.run_id, opening, context)
        span = self._tracer.start_span(
            opening.name, context, opening.kind, opening.attributes, links, start_time=_to_nanoseconds(event.time)
        )
        begun = OpenSpan(span, event.run_id, opening.key, event.time, opening.attributes, around, before)
        begun.inside = set_value(_OPEN, begun, set_span_in_context(span, before))
        self._open.setdefault(event.run_id, []).append(begun)
        if opening.key == RUN:
            _runs[event.run_id] = begun
        if around is not None and opening.key != RUN:
            around.children.append(begun)
        if opening.is_entered:
            attach(begun.inside)
        return begun

    def find(self, run_id: str, key: Key) -> OpenSpan | None:
        """Return an open span of a run; of several with this key, that in which the code runs, else the last."""
        around = get_innermost(get_current())
        if around is not None and not around.is_ended and (around.run_id, around.key) == (run_id, key):
            return around
        return next((span for span in reversed(self._open.get(run_id, ())) if span.key == key), None)

    def end(
        self, event: Event, begun: OpenSpan, attributes: Mapping[str, object], error: str | None, detail: str | None
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
            begun.span.set_status(StatusCode.ERROR, detail)
        self._close(begun, _to_nanoseconds(event.time))
        while (around := get_innermost(get_current())) is not None and around.is_ended:
            attach(around.before)

    def note_rest(self, run_id: str, begun: OpenSpan) -> None:
        """Remember the trace of a run that waits, for when it continues in this program without a record of its own."""
        while len(self._resting) >= _MOST_RESTING:
            del self._resting[next(iter(self._resting))]
        if (parent := _format_trace_parent(begun.inside)) is not None:
            self._resting[run_id] = parent

    def _find_around(self, event: Event, context: Context) -> OpenSpan | None:
        """Return the span around an event: that in which the code runs, unless it belongs to another run."""
        innermost = around = get_innermost(context)
        while around is not None:
            if around.run_id in (event.run_id, event.parent_id):
                return innermost
            around = around.around
        known = (self.find(run_id, RUN) for run_id in (event.run_id, event.parent_id) if run_id)
        return next(filter(None, known), innermost)

    def _continue_trace(self, run_id: str, opening: Opening, context: Context) -> tuple[Context, list[Link]]:
        """Return the context of the trace that a run belongs to, and a link to the code that runs, if in another."""
        parent = opening.trace_parent or (self._resting.pop(run_id, None) if opening.key == RUN else None)
        if parent is None:
            return context, []
        going_on = _PROPAGATOR.extract({_HEADER: parent}, context)
        theirs, ours = (get_current_span(each).get_span_context() for each in (going_on, context))
        if not ours.is_valid or theirs.trace_id == ours.trace_id:
            return (context if ours.is_valid else going_on), []
        return going_on, [Link(ours)]

    def _close(self, begun: OpenSpan, time: int) -> None:
        begun.is_ended = True
        for child in tuple(begun.children):
            self._close(child, time)
        if begun.around is not None and begun in begun.around.children:
            begun.around.children.remove(begun)
        begun.span.end(time)
        siblings = self._open.get(begun.run_id, [])
        if begun in siblings:
            siblings.remove(begun)
        if not siblings:
            self._open.pop(begun.run_id, None)


def get_innermost(context: Context) -> OpenSpan | None:
    """Return the innermost of our spans in a context, which may have ended."""
    value = get_value(_OPEN, context)
    return value if isinstance(value, OpenSpan) else None


_runs: Final[WeakValueDictionary[str, OpenSpan]] = WeakValueDictionary()


def find_run_trace(run_id: str) -> str | None:
    """Return the trace context of a run as a `traceparent`, or that of the code that runs, if the run has no span."""
    begun = _runs.get(run_id)
    return _format_trace_parent(get_current() if begun is None or begun.is_ended else begun.inside)


def _format_trace_parent(context: Context) -> str | None:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, context)
    return carrier.get(_HEADER)


def _to_nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
