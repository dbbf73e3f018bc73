"""Trees of nodes, made from events."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import JsonValue

from tactician.events import Event
from tactician.events.encoding import encode
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.events.spans import OpenSpan, OpenSpans
from tactician.llm import Usage
from tactician.llm.usage import UsageTally
from tactician.trace.node import ModelUse, TraceNode, TraceNote, TracePause
from tactician.trace.run_ids import RunIds

_LONGEST: Final = 2_000
_MOMENT: Final = 0.001
"""Seconds by which the time of an event and that in an output may differ."""
_INTERRUPTED: Final = "interrupted"
_RESTING: Final = frozenset({"waiting", "paused", "stuck", "resting", _INTERRUPTED})
"""States of nodes that go on where they were when they begin again."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Draft(OpenSpan):
    node_id: str
    name: str
    started: float
    last: float
    task_id: str | None
    ended: float | None = None
    status: str = "running"
    error: str | None = None
    pauses: list[TracePause] = field(default_factory=list)
    used: list[ModelUse] = field(default_factory=list)
    facts: dict[str, JsonValue] = field(default_factory=dict)
    content: dict[str, JsonValue] = field(default_factory=dict)
    notes: list[TraceNote] = field(default_factory=list)
    inside: list[_Draft] = field(default_factory=list)

    def finish(self) -> TraceNode:
        """Return the node; those inside it first, without recursion, as trees can be deep."""
        finished: dict[int, TraceNode] = {}
        waiting = [self]
        while waiting:
            draft = waiting[-1]
            if missing := [child for child in draft.inside if id(child) not in finished]:
                waiting.extend(missing)
                continue
            waiting.pop()
            finished[id(draft)] = draft._to_node(tuple(finished[id(child)] for child in draft.inside))
        return finished[id(self)]

    def _to_node(self, children: tuple[TraceNode, ...]) -> TraceNode:
        return TraceNode(
            self.node_id,
            self.kind,
            self.name,
            self.started,
            self.ended,
            self.status,
            self.run_id,
            self.task_id,
            self.error,
            tuple(self.pauses),
            tuple(self.used),
            self.facts,
            self.content,
            tuple(self.notes),
            children,
        )


class TreeBuilder:
    """Builder of trees of nodes.

    A run that was interrupted or waited, and goes on in the events of another process is a single node.

    Args:
        is_whole: true to keep all texts as they are; else long ones are shortened, and repeated ones left out.
        wordless: ids of events whose words are left out.
    """

    def __init__(self, *, is_whole: bool = False, wordless: Collection[str] = ()) -> None:
        self._is_whole = is_whole
        self._wordless = wordless
        self._open: OpenSpans[_Draft] = OpenSpans()
        self._drafts: dict[tuple[str, str, str], list[_Draft]] = {}
        self._roots: list[_Draft] = []
        self._ids: set[str] = set()
        self._run_ids = RunIds()

    def add(self, events: Iterable[Event]) -> None:
        """Add events, in the order in which they happened."""
        for heard in events:
            event = self._run_ids.translate(heard)
            if event.opens is not None and event.closes is not None:
                self._restore(event, event.opens)
            elif event.opens is not None:
                self._start(event, event.opens)
            elif event.closes is not None:
                self._end(event, event.closes)
            elif event.is_recorded:
                self._note(event)

    def build(self, run_id: str | None = None) -> tuple[TraceNode, ...]:
        """Return the tree of a run, or all trees."""
        if run_id is None:
            return tuple(root.finish() for root in self._roots)
        root = self._find_last(run_id, SpanKind.RUN)
        return () if root is None else (root.finish(),)

    def _start(self, event: Event, kind: str) -> None:
        draft = self._find_last(event.run_id, kind, event.span_key)
        if draft is None or (kind != SpanKind.RUN and draft.status not in _RESTING):
            draft = self._create(event, kind)
            self._open.add(draft)
        elif event.enters or draft.is_ended:  # else a process begins, which is the run of its Runnable
            self._start_again(draft, event)
        self._add_facts(draft, self._describe(event))

    def _start_again(self, draft: _Draft, event: Event) -> None:
        """Open a node again that rested, or whose program was killed, which no event tells."""
        if not draft.is_ended:
            self._close(draft, draft.last, _INTERRUPTED)
        if draft.ended is not None and draft.ended < event.time:
            draft.pauses.append(TracePause(draft.ended, event.time))
        draft.ended, draft.status, draft.error, draft.is_ended = None, "running", None, False
        draft.id = event.id  # by which the events inside it name it from now on
        self._open.add(draft)

    def _create(self, event: Event, kind: str) -> _Draft:
        parent = self._open.find_around(event)
        if parent is None and event.run_id:  # it is inside of a run that has ended, or that rests
            parent = self._find_last(event.run_id, SpanKind.RUN)
        task_id = event.span_key if kind == SpanKind.TASK else None if parent is None else parent.task_id
        draft = _Draft(
            id=event.id,
            node_id=self._find_free_id(event.id),
            run_id=event.run_id,
            kind=kind,
            key=event.span_key,
            parent=parent,
            name="",
            started=event.time,
            last=event.time,
            task_id=task_id,
        )
        (self._roots if parent is None else parent.inside).append(draft)
        self._drafts.setdefault((event.run_id, kind, event.span_key), []).append(draft)
        return draft

    def _find_last(self, run_id: str, kind: str, key: str = "") -> _Draft | None:
        """Return the last node of a kind with a key in a run."""
        open_span = self._drafts.get((run_id, kind, key))
        return open_span[-1] if open_span else None

    def _find_at(self, event: Event, kind: str, ended: float) -> _Draft | None:
        """Return the node that ended at a time, or may have: a task that runs several times is several nodes."""
        for draft in self._drafts.get((event.run_id, kind, event.span_key), ()):
            is_over = draft.is_ended and draft.status not in _RESTING and draft.ended is not None
            last = draft.ended if is_over and draft.ended is not None else ended
            if draft.started - _MOMENT <= ended <= last + _MOMENT:
                return draft
        return None

    def _find_free_id(self, preferred: str) -> str:
        """Return an id that no other node has, also when a log has the same event twice."""
        free = preferred
        while free in self._ids:
            free = f"{preferred}#{len(self._ids)}"
        self._ids.add(free)
        return free

    def _restore(self, event: Event, kind: str) -> None:
        """Add a node whose beginning and end are in a single event, or end the known node that has not ended."""
        facts = self._describe(event)
        if facts.ended is None:
            earlier_draft = self._find_last(event.run_id, kind, event.span_key)
        else:
            earlier_draft = self._find_at(event, kind, facts.ended)
        ended, status = event.time if facts.ended is None else facts.ended, facts.status or "completed"
        if earlier_draft is None or (
            earlier_draft.status not in _RESTING and earlier_draft.is_ended and facts.ended is None
        ):
            draft = self._create(event, kind)
            draft.started = event.time if facts.started is None else facts.started
            draft.ended, draft.status, draft.is_ended = ended, status, True
            self._add_facts(draft, facts)
        elif not earlier_draft.is_ended or earlier_draft.status in _RESTING:
            self._close(earlier_draft, ended, status)
            used = list(earlier_draft.used)
            self._add_facts(earlier_draft, facts)
            earlier_draft.used = used  # what it used is known from the calls inside it

    def _end(self, event: Event, kind: str) -> None:
        draft = self._open.find_closed_by(event)
        facts = self._describe(event)
        status = facts.status or ("completed" if facts.error is None else "failed")
        if draft is not None:
            self._close(draft, event.time, status)
        else:
            draft = self._find_last(event.run_id, kind, event.span_key)
            if draft is None or kind != SpanKind.RUN:
                return
            draft.ended, draft.status = event.time, status
        self._add_facts(draft, facts)

    def _close(self, draft: _Draft, time: float, status: str) -> None:
        inner = "waiting" if status in _RESTING and status != _INTERRUPTED else _INTERRUPTED
        for ended in self._open.remove(draft):
            ended.ended, ended.status = time, status if ended is draft else inner
            self._touch(ended, time)

    def _note(self, event: Event) -> None:
        if not self._is_whole and event.level < logging.INFO:
            return
        open_span = self._open.find_around(event)
        if open_span is not None:
            content = self._encode(self._describe(event).content)
            open_span.notes.append(TraceNote(event.type, event.time, event.describe(), content))
            self._touch(open_span, event.time)

    def _describe(self, event: Event) -> SpanFacts:
        facts = event.describe_span()
        return replace(facts, content={}, whole_content={}) if event.id in self._wordless else facts

    def _add_facts(self, draft: _Draft, span: SpanFacts) -> None:
        draft.name = span.name or draft.name
        draft.error = span.error or draft.error
        self._touch(draft, draft.started if draft.ended is None else draft.ended)
        for name, fact in span.facts.items():
            if isinstance(fact, Usage | UsageTally):
                total = fact if isinstance(fact, Usage) else fact.total
                draft.used.extend(ModelUse.of(total, draft.name))
            else:
                draft.facts[name] = encode(fact)
        draft.content.update(self._encode(span.content))
        if self._is_whole:
            draft.content.update(self._encode(span.whole_content))

    def _encode(self, content: Mapping[str, object]) -> dict[str, JsonValue]:
        encoded = {name: encode(value) for name, value in content.items()}
        return encoded if self._is_whole else {name: shorten_texts(value) for name, value in encoded.items()}

    @staticmethod
    def _touch(draft: _Draft, time: float) -> None:
        ancestor: OpenSpan | None = draft
        while isinstance(ancestor, _Draft) and ancestor.last < time:
            ancestor.last = time
            ancestor = ancestor.parent


def shorten_texts(value: JsonValue, longest: int = _LONGEST) -> JsonValue:
    """Return a JSON value whose long texts are shortened, and say by how much."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[:longest]}… ({len(value):,} characters)"
    if isinstance(value, list):
        return [shorten_texts(item, longest) for item in value]
    if isinstance(value, dict):
        return {name: shorten_texts(item, longest) for name, item in value.items()}
    return value
