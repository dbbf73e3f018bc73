"""Spans of everything else that begins and ends: tasks, phases, reviews, delegations, and what programs add."""

from __future__ import annotations

from tactician.events import Event
from tactician.events.span_facts import SpanKind
from tactician.integrations.otel.attributes import Attributes, name_error, shorten_name
from tactician.integrations.otel.conventions import RUN_ID, RUN_STATUS, SPAN_KIND, TASK_ID
from tactician.integrations.otel.span_tree import Opening, SpanTree


class OtherSpans:
    """Spans that events say by themselves that they open and close.

    Args:
        tree: the open spans.
        content: true to record messages of errors.
    """

    def __init__(self, tree: SpanTree, *, content: bool) -> None:
        self._tree = tree
        self._content = content

    def follow(self, event: Event) -> None:
        """Begin or end the span that an event opens or closes, if any."""
        if event.closes is not None:
            self._end(event)
        elif event.opens is not None:
            self._start(event, event.opens)

    def _start(self, event: Event, kind: str) -> None:
        name = shorten_name(event.describe_span().name or event.span_key)
        attributes: Attributes = {SPAN_KIND: shorten_name(kind), RUN_ID: event.run_id}
        if kind == SpanKind.TASK:
            attributes[TASK_ID] = shorten_name(event.span_key)
        self._tree.start(event, Opening(name=f"{shorten_name(kind)} {name}", attributes=attributes))

    def _end(self, event: Event) -> None:
        if (begun := self._tree.find_closed_by(event)) is not None:
            facts = event.describe_span()
            attributes = {RUN_STATUS: facts.status} if facts.status else {}
            error = name_error(facts.error) or ("failed" if facts.status == "failed" else None)
            self._tree.end(event, begun, attributes, error, facts.error if self._content else None)
