"""Events of a durable run, which its steps keep, so that later readers see what happened between the steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from tactician.events import Event
from tactician.events.span_facts import SpanKind
from tactician.runs.context.services import Services
from tactician.trace.capture import CaptureMode

if TYPE_CHECKING:
    from tactician.secrets import Masking

_MOST_EVENTS: Final = 1_000
_MOST_CHARACTERS: Final = 256 * 1024
"""Characters of the events of a step, after which they are kept without content."""
_LONGEST_TEXT: Final = 10_000


class StepEvents:
    """Listener that keeps the events of a run until its next step is saved with them.

    Its size is bounded, for each step by itself: the first events are kept, with the beginnings of long texts.

    Args:
        find_mode: function that returns how much of the code that runs is captured.
    """

    __slots__ = ("_events", "_find_mode")

    def __init__(self, find_mode: Callable[[], CaptureMode]) -> None:
        self._find_mode = find_mode
        self._events: list[tuple[Event, CaptureMode]] = []

    def __call__(self, event: Event) -> None:
        """Keep an event."""
        if not event.is_recorded:
            return
        if self._events and _is_mere_planning(self._events[-1][0], event):
            self._events.pop()
        elif len(self._events) < _MOST_EVENTS:
            self._events.append((event, self._find_mode()))

    def take(self, services: Services) -> str:
        """Return the events since the last call as JSON, one on a line, with the masks of a platform."""
        from tactician.secrets import Masking

        masking = services.find(Masking)
        taken, self._events = self._events, []
        lines: list[str] = []
        size = 0
        for event, mode in taken:
            line = _write(event, mode if size < _MOST_CHARACTERS else CaptureMode.OFF, masking)
            size += len(line)
            lines.append(line)
        return "\n".join(lines)


def _is_mere_planning(event: Event, following: Event) -> bool:
    """Return whether two events are those around planning that asked nobody: plans have an event of their own."""
    is_planning = event.opens == following.closes == SpanKind.PLAN and event.run_id == following.run_id
    return is_planning and following.describe_span().error is None


def _write(event: Event, mode: CaptureMode, masking: Masking) -> str:
    from tactician.trace.event_forms import write_event

    is_whole = mode is CaptureMode.FULL
    return write_event(event, mode, masking, is_brief=not is_whole, longest_text=None if is_whole else _LONGEST_TEXT)


def read_lines(text: str) -> Iterator[dict[str, object]]:
    """Yield the events of a step, each as JSON values. What is not an event is left out."""
    for line in text.split("\n"):
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            yield values
