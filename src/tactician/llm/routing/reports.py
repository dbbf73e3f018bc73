"""Tells a listener what a router decided. Nothing is built when nobody listens."""

from __future__ import annotations

from tactician.events import (
    EventSink,
    InstanceRecovered,
    InstanceRested,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.routing.lane import INSTANT, Lane

# A router works below all runs: until a request says to which run it belongs, its events carry no run's id.
_NO_RUN = ""


class Reporter:
    """The events of a router.

    Args:
        sink: who listens; nobody, when `None`.
    """

    __slots__ = ("sink",)

    def __init__(self, sink: EventSink | None) -> None:
        self.sink = sink

    def routed(self, lane: Lane, reason: str) -> None:
        """A request is about to go there."""
        if self.sink is not None:
            self.sink(RequestRouted(run_id=_NO_RUN, model=lane.model, instance=lane.instance, reason=reason))

    def delayed(self, lane: Lane, seconds: float, reason: str) -> None:
        """It waited for that."""
        if self.sink is not None and seconds > INSTANT:
            self.sink(
                RequestDelayed(run_id=_NO_RUN, model=lane.model, instance=lane.instance, seconds=seconds, reason=reason)
            )

    def retried(self, failed: Lane, attempt: int, error: str, delay: float, lane: Lane) -> None:
        """It failed there, and goes to this one now."""
        if self.sink is not None:
            self.sink(
                RequestRetried(
                    run_id=_NO_RUN,
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
            self.sink(ModelFellBack(run_id=_NO_RUN, model=model, fallback=fallback, reason=reason))

    def rested(self, lane: Lane, seconds: float, error: str) -> None:
        """An instance is left alone for a while."""
        if self.sink is not None:
            self.sink(
                InstanceRested(run_id=_NO_RUN, model=lane.model, instance=lane.instance, seconds=seconds, error=error)
            )

    def recovered(self, lane: Lane) -> None:
        """It is back."""
        if self.sink is not None:
            self.sink(InstanceRecovered(run_id=_NO_RUN, model=lane.model, instance=lane.instance))
