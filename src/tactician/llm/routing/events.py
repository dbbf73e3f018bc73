"""Events of a router."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRouted(Event):
    """Event before a request is sent; `reason` is the policy's name, `"retry"` or `"fallback"`."""

    model: str
    instance: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDelayed(Event):
    """Event after a wait; `reason` is `"limits"`, or `"cooldown"` if no instance could be called.

    `RequestRetried` has the delay of a further attempt.

    How long a further attempt waited is told by `RequestRetried`.
    """

    model: str
    instance: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRetried(Event):
    """Event before a request is sent again, to `next_instance`, `delay` seconds after attempt number `attempt`.

    That attempt failed at `instance`; `error` is the kind of failure, for example `"rate_limit"`.
    """

    model: str
    instance: str
    attempt: int
    error: str
    delay: float
    next_instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitOpened(Event):
    """Event when an instance failed too often with a model, and is not called for `seconds`."""

    model: str
    instance: str
    seconds: float
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitClosed(Event):
    """Event when an instance whose circuit was open has answered a trial call."""

    model: str
    instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFellBack(Event):
    """Event before a request goes to another model; `reason` is the kind of failure, or `"cooldown"`."""

    model: str
    fallback: str
    reason: str
