"""Tells those who listen what a router decided. Nothing is built when nobody listens."""

from __future__ import annotations

from tactician.events import (
    Event,
    EventSink,
    InstanceRecovered,
    InstanceRested,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.observer import Observer
from tactician.llm.routing.lane import INSTANT, Lane


class Reporter:
    """The events of a router, or of one request to it.

    Args:
        sink: who listens; nobody, when `None`.
        run_id: the run that the request belongs to; empty, when to none.
        path: the names of the runs that led there.
    """

    __slots__ = ("_path", "_run_id", "sink")

    def __init__(self, sink: EventSink | None, run_id: str = "", path: tuple[str, ...] = ()) -> None:
        self.sink = sink
        self._run_id = run_id
        self._path = path

    def heard_by(self, observer: Observer | None) -> Reporter:
        """The reporter of a request, whose observer hears it too."""
        if observer is None:
            return self
        return Reporter(_both(self.sink, observer.sink), observer.run_id, observer.path)

    def routed(self, lane: Lane, reason: str) -> None:
        """A request is about to go there."""
        if self.sink is not None:
            self.sink(
                RequestRouted(
                    run_id=self._run_id, path=self._path, model=lane.model, instance=lane.instance, reason=reason
                )
            )

    def delayed(self, lane: Lane, seconds: float, reason: str) -> None:
        """It waited for that."""
        if self.sink is not None and seconds > INSTANT:
            self.sink(
                RequestDelayed(
                    run_id=self._run_id,
                    path=self._path,
                    model=lane.model,
                    instance=lane.instance,
                    seconds=seconds,
                    reason=reason,
                )
            )

    def retried(self, failed: Lane, attempt: int, error: str, delay: float, lane: Lane) -> None:
        """It failed there, and goes to this one now."""
        if self.sink is not None:
            self.sink(
                RequestRetried(
                    run_id=self._run_id,
                    path=self._path,
                    model=failed.model,
                    instance=failed.instance,
                    attempt=attempt,
                    error=error,
                    delay=delay,
                    next_instance=lane.instance,
                )
            )

    def fell_back(self, model: str, fallback: str, reason: str) -> None:
        """It goes to another model."""
        if self.sink is not None:
            self.sink(
                ModelFellBack(run_id=self._run_id, path=self._path, model=model, fallback=fallback, reason=reason)
            )

    def rested(self, lane: Lane, seconds: float, error: str) -> None:
        """An instance is left alone for a while, because of this request."""
        if self.sink is not None:
            self.sink(
                InstanceRested(
                    run_id=self._run_id,
                    path=self._path,
                    model=lane.model,
                    instance=lane.instance,
                    seconds=seconds,
                    error=error,
                )
            )

    def recovered(self, lane: Lane) -> None:
        """It is back, as this request showed."""
        if self.sink is not None:
            self.sink(InstanceRecovered(run_id=self._run_id, path=self._path, model=lane.model, instance=lane.instance))


def _both(first: EventSink | None, second: EventSink) -> EventSink:
    """Who tells both; a listener that is both hears it once."""
    if first is None or first == second:
        return second

    def tell_both(event: Event) -> None:
        first(event)
        second(event)

    return tell_both
