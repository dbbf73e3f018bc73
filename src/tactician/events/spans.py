"""Spans: what begins with an event and ends with another, such as a run, a call of a model or a tool.

Every event says in which span it happens, so that its events alone give the tree of all that a run did. An event class
says what it opens or closes; who makes trees of them, as traces and OpenTelemetry do, need not know the classes.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tactician.events.event import Event
from tactician.events.span_facts import SpanKind

S = TypeVar("S", bound="OpenSpan")


class _Entered:
    """Span in which code runs: tasks and threads that it starts inherit it."""

    __slots__ = ("id", "is_ended", "key", "kind", "outer", "run_id")

    def __init__(self, event: Event, kind: str, outer: _Entered | None) -> None:
        self.id, self.run_id, self.kind, self.key = event.id, event.run_id, kind, event.span_key
        self.outer, self.is_ended = outer, False


_innermost: ContextVar[_Entered | None] = ContextVar("the innermost span of the code that runs", default=None)


def find_span_id() -> str | None:
    """Return the id of the span in which the code runs, which is the id of the event that opened it."""
    span = _innermost.get()
    while span is not None:
        if not span.is_ended:
            return span.id
        span = span.outer
    return None


def follow_span(event: Event) -> None:
    """Enter the span that an event opens, or leave the span that it closes."""
    span = _innermost.get()
    if (closes := event.closes) is not None:
        run_id, key = event.run_id, event.span_key
        while span is not None and not (span.run_id == run_id and span.kind == closes and span.key == key):
            span = span.outer
        if span is not None:
            span.is_ended = True
            _innermost.set(span.outer)
    elif event.opens is not None and event.enters:
        while span is not None and span.is_ended:
            span = span.outer
        _innermost.set(_Entered(event, event.opens, span))


@dataclass(slots=True, eq=False, weakref_slot=True)
class OpenSpan:
    """Span that has begun. Subclasses add what they make of it.

    Attributes:
        id: the id of the event that opened it.
        run_id: the run that it belongs to.
        kind: its kind.
        key: what tells it from others of its kind in the run.
        parent: the span that it is in.
        children: open spans inside it that cannot outlast it: all but runs.
        is_ended: true once it has ended.
    """

    id: str
    run_id: str
    kind: str
    key: str
    parent: OpenSpan | None = None
    children: list[OpenSpan] = field(default_factory=list)
    is_ended: bool = False


class OpenSpans(Generic[S]):
    """Open spans of all runs of which somebody hears."""

    def __init__(self) -> None:
        self._by_id: dict[str, S] = {}
        self._by_run: dict[str, list[S]] = {}

    def add(self, span: S) -> None:
        """Add a span that has begun."""
        self._by_id[span.id] = span
        self._by_run.setdefault(span.run_id, []).append(span)
        if span.parent is not None and span.kind != SpanKind.RUN:
            span.parent.children.append(span)

    def find(self, run_id: str, kind: str, key: str = "", *, near: str | None = None) -> S | None:
        """Return an open span of a run: of several with this key the one with the id `near`, else the last."""
        candidates = [span for span in self._by_run.get(run_id, ()) if (span.kind, span.key) == (kind, key)]
        return next((span for span in candidates if span.id == near), candidates[-1] if candidates else None)

    def find_closed_by(self, event: Event) -> S | None:
        """Return the open span that an event closes."""
        if event.closes is None:
            return None
        return self.find(event.run_id, event.closes, event.span_key, near=event.span_id)

    def find_around(self, event: Event) -> S | None:
        """Return the span in which an event happens: the code's, unless the event belongs to another run."""
        innermost = None if event.span_id is None else self._by_id.get(event.span_id)
        parent: OpenSpan | None = innermost
        while parent is not None:
            if parent.run_id in (event.run_id, event.parent_id):
                return innermost
            parent = parent.parent
        run_spans = (self.find(run_id, SpanKind.RUN) for run_id in (event.run_id, event.parent_id) if run_id)
        return next(filter(None, run_spans), innermost)

    def remove(self, span: S) -> tuple[S, ...]:
        """Remove a span that has ended, and return it behind those inside it that end with it."""
        children = [open_child for child in span.children if (open_child := self._by_id.get(child.id)) is not None]
        inside = tuple(one for child in children for one in self.remove(child))
        span.is_ended = True
        if span.parent is not None and span in span.parent.children:
            span.parent.children.remove(span)
        self._by_id.pop(span.id, None)
        siblings = self._by_run.get(span.run_id, [])
        if span in siblings:
            siblings.remove(span)
        if not siblings:
            self._by_run.pop(span.run_id, None)
        return *inside, span
