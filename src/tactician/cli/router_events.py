"""Events of a router, as text."""

from __future__ import annotations

from tactician.events import Event
from tactician.llm import InstanceRecovered, InstanceRested, ModelFellBack, RequestDelayed, RequestRetried, full_name

_NOTICEABLE = 0.1


def format_router_event(event: Event) -> str | None:
    """Format the event, or return `None` to skip it, such as a request that succeeded or waited briefly."""
    match event:
        case RequestDelayed() if event.seconds >= _NOTICEABLE:
            return f"waited {event.seconds:.1f} s for {full_name(event.instance, event.model)} ({event.reason})"
        case RequestRetried():
            return _format_retry(event)
        case InstanceRested():
            return f"{full_name(event.instance, event.model)} rests {event.seconds:.1f} s ({event.error})"
        case InstanceRecovered():
            return f"{full_name(event.instance, event.model)} is back"
        case ModelFellBack(reason="rest"):
            return f"{event.model} rests, falling back to {event.fallback}"
        case ModelFellBack():
            return f"{event.model} failed ({event.reason}), falling back to {event.fallback}"
        case _:
            return None


def _format_retry(event: RequestRetried) -> str:
    target = "again" if event.next_instance == event.instance else event.next_instance
    pause = f" after {event.delay:.1f} s" if event.delay >= _NOTICEABLE else ""
    return f"{event.instance} failed ({event.error}), trying {target}{pause}"
