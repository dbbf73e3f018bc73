"""Events of a router, as text."""

from __future__ import annotations

from tactician.events import Event
from tactician.llm import CircuitClosed, CircuitOpened, ModelFellBack, RequestDelayed, RequestRetried, format_full_name

_NOTICEABLE = 0.1


def format_router_event(event: Event) -> str | None:
    """Format the event, or return `None` to skip it, such as a request that succeeded or waited briefly."""
    match event:
        case RequestDelayed() if event.seconds >= _NOTICEABLE:
            return f"waited {event.seconds:.1f} s for {format_full_name(event.instance, event.model)} ({event.reason})"
        case RequestRetried():
            return _format_retry(event)
        case CircuitOpened():
            name = format_full_name(event.instance, event.model)
            return f"circuit of {name} open for {event.seconds:.1f} s ({event.error})"
        case CircuitClosed():
            return f"circuit of {format_full_name(event.instance, event.model)} closed again"
        case ModelFellBack(reason="cooldown"):
            return f"{event.model} is unavailable, falling back to {event.fallback}"
        case ModelFellBack():
            return f"{event.model} failed ({event.reason}), falling back to {event.fallback}"
        case _:
            return None


def _format_retry(event: RequestRetried) -> str:
    target = "again" if event.next_instance == event.instance else event.next_instance
    pause = f" after {event.delay:.1f} s" if event.delay >= _NOTICEABLE else ""
    return f"{event.instance} failed ({event.error}), trying {target}{pause}"
