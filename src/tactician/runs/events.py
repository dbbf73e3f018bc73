"""The events that every run can have."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event
from tactician.runs.result import RunResult
from tactician.runs.suspension import PendingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSuspended(Event):
    """The run ends for now: it waits for these."""

    pending: tuple[PendingRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted(Event):
    """The run has its result: the last event of every stream."""

    result: RunResult[object]
