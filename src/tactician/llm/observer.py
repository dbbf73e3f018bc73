"""Who hears what becomes of a request on its way to a model."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import EventSink


@dataclass(frozen=True, slots=True)
class Observer:
    """Who listens to the run that a request belongs to, and what the run's events say of it.

    Attributes:
        sink: who listens.
        run_id: the run's id.
        path: the names of the runs that led there, outermost first.
    """

    sink: EventSink
    run_id: str
    path: tuple[str, ...] = ()
