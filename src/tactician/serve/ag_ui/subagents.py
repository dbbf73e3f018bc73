"""Runs inside the run of a client, as subagents: which run each event belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ag_ui.core import (
    BaseEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuccessOutcome,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
)

from tactician.events import Event
from tactician.frozen import frozen
from tactician.runs import PendingRequest, RunStatus

_RUN_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,100}")
_RESTING = frozenset({RunStatus.WAITING, RunStatus.PAUSED, RunStatus.STUCK})


@frozen
class Subagent:
    """Run inside the run of a client.

    Attributes:
        id: id for the client, which a resumed run has again: the ids of the runs inside it change.
        path: names of the runs around it and its own, outermost first.
        parent: id of the subagent around it, if any.
    """

    id: str
    path: tuple[str, ...]
    parent: str | None


class Subagents:
    """Subagents of a run of a client.

    Attributes:
        root_id: id of the outermost run; empty until it has started.
    """

    def __init__(self) -> None:
        self.root_id = ""
        self._runs: dict[str, Subagent | None] = {}
        self._open: dict[str, Subagent] = {}
        self._spans: dict[str, str | None] = {}
        self._used: dict[str, int] = {}

    def start(self, event: Event, tool_call_id: str | None) -> Iterator[BaseEvent]:
        """Yield the event of a run that starts inside another; nothing for the outermost run.

        Args:
            event: the first event of the run.
            tool_call_id: id of the call of a tool in which it starts, if any.
        """
        if event.run_id in self._runs:
            return
        if not self.root_id:
            self.root_id = event.run_id
            self._runs[event.run_id] = None
            return
        parent = self._spans.get(event.span_id or "")
        subagent = Subagent(self._name(event.path), event.path, parent)
        self._runs[event.run_id] = self._open[subagent.id] = subagent
        yield SubagentStartedEvent(
            subagent_run_id=subagent.id,
            name=event.path[-1],
            parent_subagent_run_id=parent,
            parent_tool_call_id=tool_call_id,
        )

    def end(self, event: Event, status: RunStatus, error: str | None) -> Iterator[BaseEvent]:
        """Yield the event of a run that has ended, if it is a subagent."""
        subagent = self._runs.get(event.run_id)
        if subagent is None or self._open.pop(subagent.id, None) is None:
            return
        self._runs[event.run_id] = None
        if error is not None and status not in _RESTING:
            yield SubagentErrorEvent(subagent_run_id=subagent.id, message=error, code=status.value)
        else:
            yield _finish(subagent, is_suspended=status in _RESTING)

    def end_all(self) -> Iterator[BaseEvent]:
        """Yield the events of subagents that have not ended, the innermost first."""
        for subagent in reversed(self._open.values()):
            yield _finish(subagent, is_suspended=True)
        self._open.clear()

    def follow(self, event: Event) -> str | None:
        """Return the id of the subagent that an event belongs to; `None` for the outermost run."""
        if event.run_id in self._runs:
            subagent = self._runs[event.run_id]
            owner = None if subagent is None else subagent.id
        else:
            owner = self._spans.get(event.span_id or "")
        if event.closes is not None and event.span_id is not None:
            self._spans.pop(event.span_id, None)
        if event.opens is not None:
            self._spans[event.id] = owner
        return owner

    def find(self, path: tuple[str, ...]) -> str | None:
        """Return the id of the latest subagent with a path, or of the nearest one around it."""
        for length in range(len(path), 1, -1):
            key = _write(self.root_id, path[:length])
            if (count := self._used.get(key)) is not None:
                return _number(key, count)
        return None

    def _name(self, path: tuple[str, ...]) -> str:
        key = _write(self.root_id, path)
        count = self._used[key] = self._used.get(key, 0) + 1
        return _number(key, count)


def name_call(run_id: str, path: tuple[str, ...], call_id: str) -> str:
    """Return the id of a call of a tool for the client: a model may use an id again in another run.

    Args:
        run_id: id of the outermost run.
        path: names of the runs around the call, outermost first.
        call_id: id that the model gave.
    """
    return f"{_write(run_id, path)}/{call_id}"


def name_request_call(run_id: str, request: PendingRequest) -> str | None:
    """Return the id for the client of the call of a tool that a request is about, if any."""
    return None if request.call is None else name_call(run_id, request.path, request.call.id)


def find_run_id(call_id: str) -> str:
    """Return the id of the outermost run in the id of a call for the client; empty when it has none."""
    run_id = call_id.partition("/")[0]
    return run_id if _RUN_ID.fullmatch(run_id) else ""


def _write(run_id: str, path: tuple[str, ...]) -> str:
    return "/".join((run_id, *path[1:]))


def _number(key: str, count: int) -> str:
    return key if count == 1 else f"{key}#{count}"


def _finish(subagent: Subagent, *, is_suspended: bool) -> SubagentFinishedEvent:
    outcome = SubagentFinishedSuspendedOutcome() if is_suspended else SubagentFinishedSuccessOutcome()
    return SubagentFinishedEvent(subagent_run_id=subagent.id, outcome=outcome)
