"""The events of a router."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRouted(Event):
    """A request is about to go to an instance; `reason` is the policy's name, `"retry"` or `"fallback"`."""

    model: str
    instance: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDelayed(Event):
    """A request had to wait for its turn; `reason` is `"limits"`, or `"rest"` when every instance was resting.

    How long a further attempt waited is told by `RequestRetried`.
    """

    model: str
    instance: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRetried(Event):
    """A request is about to go out again, to `next_instance`, `delay` seconds after its attempt number `attempt`.

    That attempt failed at `instance`; `error` is what kind of failure it was, for example `"rate_limit"`.
    """

    model: str
    instance: str
    attempt: int
    error: str
    delay: float
    next_instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRested(Event):
    """An instance failed too often with this model, and is left alone for some seconds."""

    model: str
    instance: str
    seconds: float
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRecovered(Event):
    """An instance that rested has answered again."""

    model: str
    instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFellBack(Event):
    """A request goes to another model; `reason` is what kind of failure ended it at the first, or `"rest"`."""

    model: str
    fallback: str
    reason: str
