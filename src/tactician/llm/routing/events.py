"""Events of a router."""

from __future__ import annotations

import logging
from typing import ClassVar, Final

from tactician.events import Event
from tactician.frozen import frozen
from tactician.llm.routing.deployment import format_full_name

NOTICEABLE: Final = 0.1
"""Seconds of a wait that people would notice."""


@frozen(kw_only=True)
class RequestRouted(Event):
    """Event before a request is sent.

    Attributes:
        model: name of the model.
        instance: id of the instance.
        reason: the policy's name, `"retry"` or `"fallback"`.
        host: host of the server; empty for a model in this process.
        port: port of the server, if there is one.
    """

    model: str
    instance: str
    reason: str
    host: str = ""
    port: int | None = None

    def describe(self) -> str:
        """Return where the request goes."""
        return f"request to {format_full_name(self.instance, self.model)} ({self.reason})"


@frozen(kw_only=True)
class RequestDelayed(Event):
    """Event after a wait; `reason` is `"limits"`, or `"cooldown"` if no instance could be called.

    `RequestRetried` has the delay of a further attempt.
    """

    model: str
    instance: str
    seconds: float
    reason: str

    @property
    def level(self) -> int:
        """Level `INFO` of a wait that people would notice."""
        return logging.INFO if self.seconds >= NOTICEABLE else logging.DEBUG

    def describe(self) -> str:
        """Return how long the request waited, and for what."""
        return f"waited {self.seconds:.1f} s for {format_full_name(self.instance, self.model)} ({self.reason})"


@frozen(kw_only=True)
class RequestRetried(Event):
    """Event before a request is sent again, to `next_instance`, `delay` seconds after attempt number `attempt`.

    That attempt failed at `instance`; `error` is the kind of failure, for example `"rate_limit"`.
    """

    usual_level: ClassVar[int] = logging.WARNING

    model: str
    instance: str
    attempt: int
    error: str
    delay: float
    next_instance: str

    def describe(self) -> str:
        """Return what failed, and what is tried next."""
        target = "again" if self.next_instance == self.instance else self.next_instance
        pause = f" after {self.delay:.1f} s" if self.delay >= NOTICEABLE else ""
        return f"{self.instance} failed ({self.error}), trying {target}{pause}"


@frozen(kw_only=True)
class CircuitOpened(Event):
    """Event when an instance failed too often with a model, and is not called for `seconds`."""

    usual_level: ClassVar[int] = logging.WARNING

    model: str
    instance: str
    seconds: float
    error: str

    def describe(self) -> str:
        """Return which circuit is open, and for how long."""
        name = format_full_name(self.instance, self.model)
        return f"circuit of {name} open for {self.seconds:.1f} s ({self.error})"


@frozen(kw_only=True)
class CircuitClosed(Event):
    """Event when an instance whose circuit was open has answered a trial call."""

    usual_level: ClassVar[int] = logging.WARNING

    model: str
    instance: str

    def describe(self) -> str:
        """Return which circuit is closed."""
        return f"circuit of {format_full_name(self.instance, self.model)} closed again"


@frozen(kw_only=True)
class ModelFellBack(Event):
    """Event before a request goes to another model; `reason` is the kind of failure, or `"cooldown"`."""

    usual_level: ClassVar[int] = logging.WARNING

    model: str
    fallback: str
    reason: str

    def describe(self) -> str:
        """Return which model takes the place of which."""
        why = "is unavailable" if self.reason == "cooldown" else f"failed ({self.reason})"
        return f"{self.model} {why}, falling back to {self.fallback}"
