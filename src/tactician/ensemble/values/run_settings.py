"""Settings of an ensemble for the contexts of its runs: the pace of requests, listeners, and the captured trace."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from tactician.clock import Clock
from tactician.events.bus import EventListener
from tactician.resilience.pace import Pace
from tactician.runs import RunContext
from tactician.runs.context.part_settings import RequestPace
from tactician.runs.context.telemetry import load_capture_mode
from tactician.trace import Recorder
from tactician.trace.capture import CaptureMode


class SharedPace:
    """Pace of requests to models, which all runs of an ensemble with the same clock share."""

    def __init__(self) -> None:
        self._paces: WeakKeyDictionary[Clock, Pace] = WeakKeyDictionary()

    def limit(self, context: RunContext, rate: float) -> RunContext:
        """Return a context whose requests keep the pace.

        Args:
            context: the context of a run.
            rate: the number of requests a second.
        """
        if (pace := self._paces.get(context.clock)) is None:
            pace = self._paces[context.clock] = Pace(1 / rate, context.clock)
        return context.inside({RequestPace: RequestPace(pace, context.find(RequestPace))})


def observe_run(
    context: RunContext | None, listeners: Sequence[EventListener], capture: CaptureMode | str | None
) -> RunContext | None:
    """Return a context with listeners, and with a recorder of the trace; `None` when it needs neither.

    Args:
        context: the context of a run; `None` for the context of the running code.
        listeners: functions that hear the events of the run.
        capture: the amount of data in the trace; `None` for the amount of the context or of the configuration.
    """
    if listeners:
        context = (context or RunContext.around()).with_listeners(*listeners)
    mode = load_capture_mode() if capture is None else CaptureMode(capture)
    if mode is None or (capture is None and mode is CaptureMode.OFF):
        return context
    outer = context or RunContext.around()
    return context if capture is None and outer.find(Recorder) is not None else outer.with_capture(mode)
