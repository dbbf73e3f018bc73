"""Capture: how much of a run its trace has."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tactician.events import Event
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from tactician.trace.node import TraceNode
    from tactician.trace.trace import Trace

MOST_EVENTS: Final = 200_000


class CaptureMode(StrEnum):
    """Amount that is captured.

    `OFF` records nothing. `STANDARD` records everything that happens, with long texts shortened, and of each call of a
    model only what it had not received before. `FULL` has all texts, and all messages of each call.
    """

    OFF = "off"
    STANDARD = "standard"
    FULL = "full"


@suggest_options
class Recorder:
    """Listener that records the events of runs for their traces.

    It keeps the events as they are; a trace is made of them when somebody reads it.

    Args:
        capture: how much the traces have.
        most_events: number of events after which it records no more.
        find_mode: function that returns how much of the code that runs is captured, if that says so: of what says
            `OFF`, the traces have no words.
    """

    def __init__(
        self,
        capture: CaptureMode | str = CaptureMode.STANDARD,
        *,
        most_events: int = MOST_EVENTS,
        find_mode: Callable[[], CaptureMode | None] | None = None,
    ) -> None:
        self.capture = CaptureMode(capture)
        self._events: list[Event] = []
        self._wordless: set[str] = set()
        self._most = 0 if self.capture is CaptureMode.OFF else most_events
        self._find_mode = find_mode

    def __call__(self, event: Event) -> None:
        """Record an event."""
        if event.is_recorded and len(self._events) < self._most:
            self._events.append(event)
            if self._find_mode is not None and self._find_mode() is CaptureMode.OFF:
                self._wordless.add(event.id)

    @property
    def is_full(self) -> bool:
        """True when events were left out."""
        return len(self._events) >= self._most

    def read_trace(self, run_id: str | None = None) -> Trace:
        """Return the trace of a run, or of all runs. It is made of the events when it is first read.

        Args:
            run_id: the run.
        """
        from tactician.trace.trace import Trace

        return Trace.lazy(lambda: Trace(self._build(run_id)))

    def _build(self, run_id: str | None) -> tuple[TraceNode, ...]:
        from tactician.trace.building import TreeBuilder

        builder = TreeBuilder(is_whole=self.capture is CaptureMode.FULL, wordless=self._wordless)
        builder.add(self._events)
        return builder.build(run_id)
