"""Events that the steps of a stored run have kept, whether or not anybody listened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from tactician.errors import StoredStateError
from tactician.events import Event, event_from_json
from tactician.runs.context.step_events import read_lines
from tactician.runs.progress.steps import RunStep


class RecordedEvent:
    """Event as a step has it, which need not be of a class that this program knows.

    Args:
        values: the event as JSON values.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    @property
    def type(self) -> str:
        """The name of its class."""
        return self._find_text("type")

    @property
    def id(self) -> str:
        """The id of the event."""
        return self._find_text("id")

    @property
    def run_id(self) -> str:
        """The id of its run."""
        return self._find_text("run_id")

    @property
    def parent_id(self) -> str | None:
        """The id of the run around its run, if any."""
        return self._find_text("parent_id") or None

    @property
    def span_id(self) -> str | None:
        """The id of the event that opened the span in which it happened, if any."""
        return self._find_text("span_id") or None

    @property
    def time(self) -> float:
        """The time of the event, in seconds since the epoch."""
        value = self._values.get("time")
        return float(value) if isinstance(value, int | float) else 0.0

    @cached_property
    def text(self) -> str:
        """The event as JSON."""
        return json.dumps(self._values, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def event(self) -> Event | None:
        """The event itself; `None` when this program does not know its class, or it cannot be read."""
        try:
            return event_from_json(self._values)
        except StoredStateError:
            return None

    def _find_text(self, name: str) -> str:
        value = self._values.get(name)
        return value if isinstance(value, str) else ""


def read_recorded_events(run_id: str, steps: Iterable[RunStep]) -> Iterator[RecordedEvent]:
    """Yield the events in the steps of a run, in the order in which they happened.

    The steps that a fork has copied say the id of the other run: the events belong to the fork all the same.
    """
    others: set[object] = set()
    for step in steps:
        for values in read_lines(step.events):
            path, own_id = values.get("path"), values.get("run_id")
            if isinstance(path, list) and len(path) == 1 and own_id != run_id:
                others.add(own_id)
            for name in ("run_id", "parent_id"):
                if values.get(name) in others:
                    values[name] = run_id
            yield RecordedEvent(values)
