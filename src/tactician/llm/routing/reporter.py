"""Emission of a router's events. Nothing is built when nobody listens."""

from __future__ import annotations

from tactician.events.bus import EventEmitter
from tactician.llm.routing.deployment import find_address
from tactician.llm.routing.deployment_state import INSTANT, DeploymentState
from tactician.llm.routing.events import (
    CircuitClosed,
    CircuitOpened,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)


class Reporter:
    """Emitter of the events of a router, or of a request to it.

    Args:
        emitter: the target of the events.
    """

    __slots__ = ("_emitter",)

    def __init__(self, emitter: EventEmitter) -> None:
        self._emitter = emitter

    @property
    def is_observed(self) -> bool:
        """`True` if anybody listens."""
        return self._emitter.bus.is_observed

    def for_request(self, observer: EventEmitter | None) -> Reporter:
        """Return the reporter of a request, whose own run receives the events too."""
        return self if observer is None else Reporter(observer.with_bus(self._emitter.bus))

    def report_route(self, state: DeploymentState, reason: str) -> None:
        """Report that a request is about to be sent."""
        if self.is_observed:
            host, port = find_address(state.deployment)
            self._emitter.emit(
                RequestRouted, model=state.model, instance=state.instance, reason=reason, host=host, port=port
            )

    def report_delay(self, state: DeploymentState, seconds: float, reason: str) -> None:
        """Report that a request waited."""
        if seconds > INSTANT:
            self._emitter.emit(
                RequestDelayed, model=state.model, instance=state.instance, seconds=seconds, reason=reason
            )

    def report_retry(
        self, failed: DeploymentState, attempt: int, error: str, delay: float, state: DeploymentState
    ) -> None:
        """Report that a request failed at a deployment and is about to be sent to another."""
        self._emitter.emit(
            RequestRetried,
            model=failed.model,
            instance=failed.instance,
            attempt=attempt,
            error=error,
            delay=delay,
            next_instance=state.instance,
        )

    def report_fallback(self, model: str, fallback: str, reason: str) -> None:
        """Report that a request goes to another model."""
        self._emitter.emit(ModelFellBack, model=model, fallback=fallback, reason=reason)

    def report_circuit_opened(self, state: DeploymentState, seconds: float, error: str) -> None:
        """Report that the circuit of an instance opened."""
        self._emitter.emit(CircuitOpened, model=state.model, instance=state.instance, seconds=seconds, error=error)

    def report_circuit_closed(self, state: DeploymentState) -> None:
        """Report that the circuit of an instance closed."""
        self._emitter.emit(CircuitClosed, model=state.model, instance=state.instance)
