"""Base class of all events."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from time import time
from typing import ClassVar, TypeVar

from tactician.errors import DeclarationError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Event of a run.

    A subclass is a frozen dataclass. Its `type` is its name in JSON, the class's name by default;
    two event classes of different modules cannot share a name. Its `usual_level` is that of the log, `DEBUG` by
    default.

    Attributes:
        run_id: the id of the run; empty outside of runs, as in a router that is called directly.
        parent_id: the id of the process or run around it, if any.
        path: the names of the runs around it and its own, outermost first.
        id: a random id of the event.
        time: the time of the event, in seconds since the epoch.
    """

    type: ClassVar[str] = "Event"
    usual_level: ClassVar[int] = logging.DEBUG

    run_id: str = ""
    parent_id: str | None = field(default=None, compare=False)
    path: tuple[str, ...] = ()
    id: str = field(default_factory=new_id, compare=False)
    time: float = field(default_factory=time, compare=False)

    @property
    def level(self) -> int:
        """Level at which the event is logged: that of its class, unless something failed."""
        return self.usual_level

    def describe(self) -> str:
        """Return the event in a single line, for logs: without prompts, answers and arguments."""
        return self.type

    def __init_subclass__(cls, **options: object) -> None:
        object.__init_subclass__(**options)
        cls.type = vars(cls).get("type", cls.__name__)
        _register(cls)


def find_event_type(name: str) -> type[Event] | None:
    """Return the event class of that name, or `None` when no imported module defines one."""
    return _types.get(name)


def _register(kind: type[Event]) -> None:
    known = _types.setdefault(kind.type, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        problem = f"{known.__module__} defines an event of this name already; set `type = ...` to another name"
        raise DeclarationError(f"{kind.__module__}.{kind.__qualname__}", [problem])
    _types[kind.type] = kind  # a dataclass with slots is created twice
