"""The event stream of runs, for progress views, logs, traces, metrics and tests.

Each package defines the events that it emits, as subclasses of `Event`. A listener is any callable that takes an event;
its exceptions are logged and end nothing. No event is built when nobody listens. Every event has a JSON form.
"""

from tactician.events.bus import EventBus, EventEmitter, EventListener, subscribe_everywhere
from tactician.events.encoding import encode, event_from_json, event_to_json
from tactician.events.event import Event, find_event_type, new_id
from tactician.events.log import EventLog, read_event_log
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.events.spans import OpenSpan, OpenSpans, find_span_id

__all__ = [
    "Event",
    "EventListener",
    "EventBus",
    "EventEmitter",
    "subscribe_everywhere",
    "event_to_json",
    "event_from_json",
    "find_event_type",
    "EventLog",
    "read_event_log",
    "encode",
    "new_id",
    "SpanKind",
    "SpanFacts",
    "OpenSpan",
    "OpenSpans",
    "find_span_id",
]
