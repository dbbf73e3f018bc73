"""Base class of all events."""

from __future__ import annotations

import logging
import os
from dataclasses import field
from time import time
from typing import ClassVar, TypeVar

from tactician.errors import DeclarationError
from tactician.events.span_facts import NO_FACTS, RunMoment, SpanFacts
from tactician.frozen import frozen
from tactician.late_imports import load_modules

_types: dict[str, type[Event]] = {}
_ids: list[str] = []  # read from the system many at a time: a call of it takes ten times as long as the rest
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.clear)
E = TypeVar("E", bound="Event")


def new_id() -> str:
    """Return a fresh random id of 16 hexadecimal digits, also in programs that seed `random`."""
    try:
        return _ids.pop()
    except IndexError:
        digits = os.urandom(8 * 256).hex()
        first, *others = [digits[place : place + 16] for place in range(0, len(digits), 16)]
        _ids.extend(others)
        return first


@frozen(kw_only=True)
class Event:
    """Event of a run.

    A subclass is a frozen dataclass. Its `type` is its name in JSON, the class's name by default;
    two event classes of different modules cannot share a name. Its `usual_level` is its level in the log, `DEBUG` by
    default.

    Attributes:
        run_id: the id of the run; empty outside of runs, as in a router that is called directly.
        parent_id: the id of the process or run around it, if any.
        path: the names of the runs around it and its own, outermost first.
        id: a random id of the event.
        time: the time of the event, in seconds since the epoch.
        span_id: the id of the event that opened the innermost span in which it happens; one that closes a span happens
            in it.
    """

    made_by_users: ClassVar[bool] = False
    """False: its constructor need not suggest names for unknown ones, which would take as long as the rest of it."""
    type: ClassVar[str] = "Event"
    usual_level: ClassVar[int] = logging.DEBUG
    opens: ClassVar[str | None] = None
    """Kind of span that begins with such an event, as in `SpanKind`."""
    closes: ClassVar[str | None] = None
    """Kind of span that ends with such an event. One that opens a span too ends that which is open, else it is all."""
    enters: ClassVar[bool] = True
    """True when the code that emits an opening event is inside the span from then on; else only what names its run."""
    is_recorded: ClassVar[bool] = True
    """False for an event that repeats what others say, or is a piece of it."""
    content_fields: ClassVar[tuple[str, ...]] = ()
    """Fields with the words of people, models and tools, such as `"call.arguments"`: they are empty where a run is not
    captured."""

    run_id: str = ""
    parent_id: str | None = field(default=None, compare=False)
    path: tuple[str, ...] = ()
    id: str = field(default_factory=new_id, compare=False)
    time: float = field(default_factory=time, compare=False)
    span_id: str | None = field(default=None, compare=False)

    @property
    def level(self) -> int:
        """Level at which the event is logged: its class's level, unless something failed."""
        return self.usual_level

    def describe(self) -> str:
        """Return the event in a single line, for logs: without prompts, answers and arguments."""
        return self.type

    @property
    def span_key(self) -> str:
        """Key that tells the span that it opens or closes from others of the kind in the run."""
        return ""

    def describe_span(self) -> SpanFacts:
        """Return what the event knows of the span that it opens or closes."""
        return NO_FACTS

    def abbreviate(self) -> Event:
        """Return the event without what earlier events of the run have too."""
        return self

    def describe_moment(self) -> RunMoment | None:
        """Return the moment of a run that it is, for a personality to put in words; `None` for most events."""
        return None

    def __init_subclass__(cls, **options: object) -> None:
        object.__init_subclass__(**options)
        cls.type = vars(cls).get("type", cls.__name__)
        _register(cls)


def find_event_type(name: str) -> type[Event] | None:
    """Return the event class of that name: one of this package, or of an imported module; else `None`."""
    if name not in _types:
        load_modules("events")
    return _types.get(name)


def _register(kind: type[Event]) -> None:
    registered_kind = _types.setdefault(kind.type, kind)
    if (registered_kind.__module__, registered_kind.__qualname__) != (kind.__module__, kind.__qualname__):
        problem = (
            f"{registered_kind.__module__} defines an event of this name already; set `type = ...` to another name"
        )
        raise DeclarationError(f"{kind.__module__}.{kind.__qualname__}", [problem])
    _types[kind.type] = kind  # a dataclass with slots is created twice
