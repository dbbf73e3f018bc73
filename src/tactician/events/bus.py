"""Event bus: delivers events to listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeAlias

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events.event import Event
from tactician.events.spans import find_span_id, follow_span
from tactician.loggers import get_logger

P = ParamSpec("P")
EventListener: TypeAlias = Callable[[Event], object]
_everywhere: tuple[EventListener, ...] = ()
_logger = get_logger("tactician.events")


class EventBus:
    """Bus that delivers events to listeners, in the order in which they subscribed.

    Exceptions of a listener are logged by the logger `tactician.events`: the others still receive the event, and the
    run continues. A listener that was subscribed twice, here or at the parent, receives an event once.

    Args:
        listeners: called with each event; `None` is ignored.
        parent: a bus that receives each event first.
    """

    __slots__ = ("_listeners", "_parent")

    def __init__(self, *listeners: EventListener | None, parent: EventBus | None = None) -> None:
        self._listeners = tuple(listener for listener in listeners if listener is not None)
        self._parent = parent

    @property
    def listeners(self) -> tuple[EventListener, ...]:
        """All listeners, the parent's first."""
        above = _everywhere if self._parent is None else self._parent.listeners
        if not above or not self._listeners:
            return above or self._listeners
        return (*above, *(listener for listener in self._listeners if listener not in above))

    @property
    def is_observed(self) -> bool:
        """`True` if anybody listens. If not, callers need not build events."""
        if self._listeners or _everywhere:
            return True
        return self._parent is not None and self._parent.is_observed

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Add a listener, and return the function that removes it."""
        if listener not in self._listeners:
            self._listeners = (*self._listeners, listener)

        def unsubscribe() -> None:
            self._listeners = tuple(other for other in self._listeners if other != listener)

        return unsubscribe

    def create_child(self, *listeners: EventListener | None) -> EventBus:
        """Return a bus with further listeners, for a part of the work."""
        return EventBus(*listeners, parent=self)

    def emit(self, event: Event) -> None:
        """Deliver an event to all listeners; what the code does next is inside the span that the event opens."""
        self.deliver(event, self.listeners)

    @staticmethod
    def deliver(event: Event, listeners: tuple[EventListener, ...]) -> None:
        """Deliver an event to listeners, as `emit` does to the listeners of the bus."""
        for listener in listeners:
            try:
                listener(event)
            except Exception:
                _logger.exception("%s: a listener failed on %s; the run continues", " / ".join(event.path), event.type)
        if event.opens is not None or event.closes is not None:
            follow_span(event)


def subscribe_everywhere(listener: EventListener) -> Callable[[], None]:
    """Add a listener to all buses of the program, and return the function that removes it."""
    global _everywhere
    if listener not in _everywhere:
        _everywhere = (*_everywhere, listener)

    def unsubscribe() -> None:
        global _everywhere
        _everywhere = tuple(other for other in _everywhere if other != listener)

    return unsubscribe


class EventEmitter:
    """Emitter of the events of a run, or of a request inside it, to a bus.

    Args:
        bus: the target of the events.
        run_id: the run.
        path: the names of the runs around it and its own, outermost first.
        clock: the time of the events.
        parent_id: the id of the process or run around it, if any.
    """

    __slots__ = ("bus", "clock", "parent_id", "path", "run_id")

    def __init__(
        self,
        bus: EventBus,
        run_id: str = "",
        path: tuple[str, ...] = (),
        clock: Clock = SYSTEM_CLOCK,
        parent_id: str | None = None,
    ) -> None:
        self.bus = bus
        self.run_id = run_id
        self.path = path
        self.clock = clock
        self.parent_id = parent_id

    @property
    def is_observed(self) -> bool:
        """`True` if anybody listens."""
        return self.bus.is_observed

    def emit(self, kind: Callable[P, Event], /, *args: P.args, **fields: P.kwargs) -> None:
        """Build an event of this run and deliver it. When nobody listens, build nothing.

        Args:
            kind: the class of the event.
            *args: always empty: fields of events are keywords.
            **fields: the fields of the event, without the fields of the run.
        """
        if self.bus.is_observed:
            build: Callable[..., Event] = kind  # P cannot say that events have these fields
            run_fields = {
                "run_id": self.run_id,
                "parent_id": self.parent_id,
                "path": self.path,
                "span_id": find_span_id(),
            }
            self.bus.emit(build(*args, **run_fields, time=self.clock.time(), **fields))

    def with_bus(self, bus: EventBus) -> EventEmitter:
        """Return an emitter for the same run whose events also reach another bus."""
        return EventEmitter(
            EventBus(*self.bus.listeners, parent=bus), self.run_id, self.path, self.clock, self.parent_id
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> object:
        """Return a schema for `None` only: listeners are not stored."""
        from pydantic_core import core_schema

        return core_schema.none_schema()
