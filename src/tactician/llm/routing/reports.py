"""The events of a router's decisions. Nothing is built when nobody listens."""

from __future__ import annotations

from tactician.events import EventEmitter
from tactician.llm.routing.events import (
    InstanceRecovered,
    InstanceRested,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.routing.lane import INSTANT, Lane


class Reporter:
    """The events of a router, or of one request to it.

    Args:
        emitter: where they go.
    """

    __slots__ = ("_emitter",)

    def __init__(self, emitter: EventEmitter) -> None:
        self._emitter = emitter

    @property
    def is_observed(self) -> bool:
        """Whether anybody listens."""
        return self._emitter.is_observed

    def for_request(self, observer: EventEmitter | None) -> Reporter:
        """Return the reporter of a request, whose own run hears the events too."""
        return self if observer is None else Reporter(observer.to(self._emitter.bus))

    def routed(self, lane: Lane, reason: str) -> None:
        """A request is about to go there."""
        self._emitter.emit(RequestRouted, model=lane.model, instance=lane.instance, reason=reason)

    def delayed(self, lane: Lane, seconds: float, reason: str) -> None:
        """It waited for that."""
        if seconds > INSTANT:
            self._emitter.emit(RequestDelayed, model=lane.model, instance=lane.instance, seconds=seconds, reason=reason)

    def retried(self, failed: Lane, attempt: int, error: str, delay: float, lane: Lane) -> None:
        """It failed there, and goes to this one now."""
        self._emitter.emit(
            RequestRetried,
            model=failed.model,
            instance=failed.instance,
            attempt=attempt,
            error=error,
            delay=delay,
            next_instance=lane.instance,
        )

    def fell_back(self, model: str, fallback: str, reason: str) -> None:
        """It goes to another model."""
        self._emitter.emit(ModelFellBack, model=model, fallback=fallback, reason=reason)

    def rested(self, lane: Lane, seconds: float, error: str) -> None:
        """An instance is left alone for a while, because of this request."""
        self._emitter.emit(InstanceRested, model=lane.model, instance=lane.instance, seconds=seconds, error=error)

    def recovered(self, lane: Lane) -> None:
        """It is back, as this request showed."""
        self._emitter.emit(InstanceRecovered, model=lane.model, instance=lane.instance)
