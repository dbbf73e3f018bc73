"""The event stream of runs, for progress views, logs, traces, metrics and tests.

Each package defines the events that it emits, as subclasses of `Event`. A listener is any callable that takes an event;
its exceptions are logged and end nothing. No event is built when nobody listens. Every event has a JSON form.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.events.bus import subscribe_everywhere as subscribe_everywhere
    from tactician.events.encoding import event_from_json as event_from_json
    from tactician.events.encoding import event_to_json as event_to_json
    from tactician.events.event import Event as Event
    from tactician.events.log import EventLog as EventLog
    from tactician.events.log import read_event_log as read_event_log
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.events.bus": "subscribe_everywhere",
            "tactician.events.encoding": "event_from_json event_to_json",
            "tactician.events.event": "Event",
            "tactician.events.log": "EventLog read_event_log",
        },
    )
