"""The event stream of runs, for progress views, logs, traces, metrics and tests.

Each package defines the events that it emits, as subclasses of `Event`. A listener is any callable that takes an event;
its exceptions are logged and end nothing. No event is built when nobody listens. Every event has a JSON form.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.events.bus import EventBus as EventBus
    from tactician.events.bus import EventEmitter as EventEmitter
    from tactician.events.bus import EventListener as EventListener
    from tactician.events.bus import subscribe_everywhere as subscribe_everywhere
    from tactician.events.encoding import encode as encode
    from tactician.events.encoding import event_from_json as event_from_json
    from tactician.events.encoding import event_to_json as event_to_json
    from tactician.events.event import Event as Event
    from tactician.events.event import find_event_type as find_event_type
    from tactician.events.event import new_id as new_id
    from tactician.events.log import EventLog as EventLog
    from tactician.events.log import read_event_log as read_event_log
    from tactician.events.span_facts import MomentName as MomentName
    from tactician.events.span_facts import RunMoment as RunMoment
    from tactician.events.span_facts import SpanFacts as SpanFacts
    from tactician.events.span_facts import SpanKind as SpanKind
    from tactician.events.spans import OpenSpan as OpenSpan
    from tactician.events.spans import OpenSpans as OpenSpans
    from tactician.events.spans import find_span_id as find_span_id
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.events.bus": "EventBus EventEmitter EventListener subscribe_everywhere",
            "tactician.events.encoding": "encode event_from_json event_to_json",
            "tactician.events.event": "Event find_event_type new_id",
            "tactician.events.log": "EventLog read_event_log",
            "tactician.events.span_facts": "RunMoment MomentName SpanFacts SpanKind",
            "tactician.events.spans": "OpenSpan OpenSpans find_span_id",
        },
    )
