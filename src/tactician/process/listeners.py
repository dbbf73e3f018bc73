"""Those who hear of a process, and cannot harm it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tactician.events import Event, EventSink

_logger = logging.getLogger("tactician.process")


@dataclass(frozen=True, slots=True)
class Listeners:
    """Tells each of them. What one raises goes to the log: the others are told, and the process goes on."""

    each: tuple[EventSink, ...]

    def __call__(self, event: Event) -> None:
        """Tells them."""
        for one in self.each:
            try:
                one(event)
            except Exception:
                place, kind = " / ".join(event.path), type(event).__name__
                _logger.exception("%s: a listener raised when it was told of %s; the process goes on", place, kind)


def listeners(*sinks: EventSink | None) -> EventSink | None:
    """One listener for all that there are; `None` when nobody listens."""
    there = [one for sink in sinks if sink is not None for one in _each(sink)]
    return Listeners(tuple(there)) if there else None


def _each(sink: EventSink) -> tuple[EventSink, ...]:
    return sink.each if isinstance(sink, Listeners) else (sink,)
