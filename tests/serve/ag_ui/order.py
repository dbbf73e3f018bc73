"""The order of events that AG-UI 1.0 asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast

from ag_ui.core import Event


class _Change(Protocol):
    """Change of a value, as far as these tests need it."""

    op: str
    path: str
    value: object


_OPENERS = {
    "TEXT_MESSAGE_START": ("text", "message_id"),
    "REASONING_START": ("span", "message_id"),
    "REASONING_MESSAGE_START": ("reasoning", "message_id"),
    "TOOL_CALL_START": ("call", "tool_call_id"),
    "STEP_STARTED": ("step", "step_name"),
    "SUBAGENT_STARTED": ("subagent", "subagent_run_id"),
}
_PARTS = {
    "TEXT_MESSAGE_CONTENT": ("text", "message_id"),
    "REASONING_MESSAGE_CONTENT": ("reasoning", "message_id"),
    "TOOL_CALL_ARGS": ("call", "tool_call_id"),
}
_CLOSERS = {
    "TEXT_MESSAGE_END": ("text", "message_id"),
    "REASONING_END": ("span", "message_id"),
    "REASONING_MESSAGE_END": ("reasoning", "message_id"),
    "TOOL_CALL_END": ("call", "tool_call_id"),
    "STEP_FINISHED": ("step", "step_name"),
    "SUBAGENT_FINISHED": ("subagent", "subagent_run_id"),
    "SUBAGENT_ERROR": ("subagent", "subagent_run_id"),
}
_LAST = ("RUN_FINISHED", "RUN_ERROR")


def check_order(events: Iterable[Event]) -> None:
    """Assert that events are those of a single run: what begins ends, and nothing belongs to two agents."""
    listed = list(events)
    kinds = [event.type.value for event in listed]
    assert kinds[0] == "RUN_STARTED"
    assert [kind for kind in kinds if kind in _LAST] == kinds[-1:]
    opened: dict[tuple[str, str], str | None] = {}
    subagents: set[str] = set()
    for event, kind in zip(listed, kinds, strict=True):
        owner = getattr(event, "subagent_run_id", None)
        assert owner is None or kind == "SUBAGENT_STARTED" or owner in subagents, f"{owner} has not started"
        if kind in _OPENERS:
            place = _find_place(event, *_OPENERS[kind])
            assert place not in opened, f"{place} is open already"
            opened[place] = owner
            if kind == "SUBAGENT_STARTED":
                _check_subagent(event, subagents)
        elif kind in _PARTS:
            assert opened[_find_place(event, *_PARTS[kind])] == owner
        elif kind in _CLOSERS:
            assert opened.pop(_find_place(event, *_CLOSERS[kind])) == owner
    assert opened == {} or kinds[-1] == "RUN_ERROR"


def apply_state(events: Iterable[Event], state: Any = None) -> Any:  # noqa: ANN401 - any JSON
    """Return the state after snapshots and changes: these add or replace a value."""
    for event in events:
        if event.type.value == "STATE_SNAPSHOT":
            state = event.snapshot  # type: ignore[union-attr]
        elif event.type.value == "STATE_DELTA":
            for change in cast("list[_Change]", event.delta):  # type: ignore[union-attr]
                *parents, last = [_unescape(part) for part in change.path.split("/")[1:]]
                place = state
                for parent in parents:
                    place = place[parent]
                assert (last in place) == (change.op == "replace")
                place[last] = change.value
    return state


def _find_place(event: Event, kind: str, name: str) -> tuple[str, str]:
    owner = f"{getattr(event, 'subagent_run_id', None)} " if kind == "step" else ""
    return kind, f"{owner}{getattr(event, name)}"


def _check_subagent(event: Event, subagents: set[str]) -> None:
    known, parent = event.subagent_run_id, event.parent_subagent_run_id  # type: ignore[union-attr]
    assert known not in subagents, f"{known} has started already"
    assert parent is None or parent in subagents
    subagents.add(str(known))


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
