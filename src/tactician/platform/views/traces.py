"""Traces of stored runs, made from the events in their steps: no listener has to be there while they run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from tactician.events.span_facts import SpanKind
from tactician.platform.views.recorded_events import RecordedEvent
from tactician.platform.views.runs import RunView
from tactician.process.state.state import ActionRun
from tactician.runs import RunStatus
from tactician.trace import Trace
from tactician.trace.capture import CaptureMode
from tactician.trace.node import ModelUse, TraceNode, TraceNote

_RESTING: Final = frozenset({"waiting", "paused", "resting", "stuck"})


def build_stored_trace(run: RunView, events: Iterable[RecordedEvent]) -> Trace:
    """Return the trace of a run.

    Args:
        run: the run.
        events: the events of its steps, oldest first.
    """
    stored_events = [event for each in events if (event := each.event) is not None]
    is_whole = run.capture is CaptureMode.FULL
    roots = Trace.from_events(stored_events, run.id, is_whole=is_whole).roots
    return Trace([_describe(roots[0] if roots else _create_root(run), run)])


def _create_root(run: RunView) -> TraceNode:
    """Return the node of a run without events: one that has not begun, or a process that no store has."""
    started = run.started_at or run.changed_at or 0.0
    actions = (_create_action(run.id, place, action) for place, action in enumerate(run.history))
    return TraceNode(run.id, SpanKind.RUN, run.name, started, run_id=run.id, children=tuple(actions))


def _create_action(run_id: str, place: int, action: ActionRun) -> TraceNode:
    uses = [use for model, usage in action.tally.by_model.items() for use in ModelUse.of(usage, model)]
    return TraceNode(
        f"{run_id}#{place}",
        SpanKind.ACTION,
        action.action,
        action.started_at,
        action.started_at + action.seconds,
        "completed" if action.error is None else "failed",
        run_id,
        error=action.error,
        used=tuple(uses),
        facts={"outputs": list(action.outputs)},
    )


def _describe(root: TraceNode, run: RunView) -> TraceNode:
    """Return the node with what the record of its run has: its state, its objects, and what it waits for.

    The last event of a run comes after its last step.
    """
    is_over = run.status in _RESTING or RunStatus(run.status).is_terminal
    last = max((_find_last(node) for node in root.walk()), default=root.started)
    waits = (TraceNote("waits for", last, f"{each.kind} {each.id}: {each.prompt}") for each in run.pending)
    return replace(
        root,
        status=run.status,
        ended=max(last, root.ended or last) if is_over else None,
        error=run.failure or root.error,
        facts={**root.facts, **_list_facts(run)},
        content={**root.content, **_list_content(run)},
        notes=(*root.notes, *waits),
    )


def _find_last(node: TraceNode) -> float:
    return max(node.started, node.ended or 0.0, *(note.time for note in node.notes))


def _list_facts(run: RunView) -> dict[str, JsonValue]:
    forked = None if run.forked_from is None else f"{run.forked_from[0]}, step {run.forked_from[1]}"
    facts = {"runnable": run.kind, "goal": run.goal, "forked from": forked, "model": run.model}
    return {name: fact for name, fact in facts.items() if fact}


def _list_content(run: RunView) -> dict[str, JsonValue]:
    if run.capture is CaptureMode.OFF:
        return {}
    content: dict[str, JsonValue] = {"output": run.output, "conditions": dict(run.conditions)}
    content["blackboard"] = [
        {"type": item.type, "name": item.binding, "value": item.value, "hidden": item.is_hidden} for item in run.objects
    ]
    return {name: value for name, value in content.items() if value}
