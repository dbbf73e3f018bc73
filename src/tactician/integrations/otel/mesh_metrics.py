"""Metrics of nodes of a mesh: requests by outcome, and the load of each instance."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.metrics import Meter

from tactician.events import Event
from tactician.integrations.otel.attributes import Attributes
from tactician.integrations.otel.conventions import (
    MESH_CAPABILITY,
    MESH_EXPECTED_WAIT,
    MESH_INSTANCE,
    MESH_NODE,
    MESH_OLDEST_AGE,
    MESH_OUTCOME,
    MESH_QUEUE_DEPTH,
    MESH_REQUESTS,
    MESH_RUNNING,
)


class MeshMetrics:
    """Instruments for nodes of a mesh. It knows their events by the names of the types, and imports no mesh.

    Args:
        meter: the meter.
    """

    def __init__(self, meter: Meter) -> None:
        self._requests = meter.create_counter(MESH_REQUESTS, "{request}", "Requests that a node has answered")
        self._depth = meter.create_gauge(MESH_QUEUE_DEPTH, "{request}", "Requests that wait")
        self._age = meter.create_gauge(MESH_OLDEST_AGE, "s", "Age of the oldest request that waits")
        self._running = meter.create_gauge(MESH_RUNNING, "{request}", "Requests that are worked on")
        self._wait = meter.create_gauge(MESH_EXPECTED_WAIT, "s", "Expected time until a new request ends")

    def list_handlers(self) -> dict[str, Callable[..., None]]:
        """Return the functions that take events, by the types of the events."""
        return {"WorkAnswered": self._count, "NodeMeasured": self._measure}

    def _count(self, event: Event) -> None:
        labels: Attributes = {
            MESH_NODE: getattr(event, "node", ""),
            MESH_CAPABILITY: getattr(event, "capability", ""),
            MESH_OUTCOME: getattr(event, "outcome", ""),
        }
        self._requests.add(1, labels)

    def _measure(self, event: Event) -> None:
        labels: Attributes = {MESH_NODE: getattr(event, "node", ""), MESH_INSTANCE: getattr(event, "instance", "")}
        self._depth.set(getattr(event, "queue_depth", 0), labels)
        self._age.set(getattr(event, "oldest_age", 0.0), labels)
        self._running.set(getattr(event, "running", 0), labels)
        if (wait := getattr(event, "expected_wait", None)) is not None:
            self._wait.set(wait, labels)
