"""Metrics: tokens, durations, costs, waits in the queues of a router, and its open circuits."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.metrics import Histogram, Meter

from tactician.integrations.otel.attributes import Attributes, describe_model, name_error
from tactician.integrations.otel.conventions import (
    AGENT,
    AGENT_DURATION,
    CHAT,
    COST,
    ERROR_TYPE,
    FALLBACKS,
    INSTANCE,
    OPEN_CIRCUITS,
    OPERATION,
    OPERATION_DURATION,
    PLANNING_DURATION,
    QUEUE_DURATION,
    REASON,
    REQUEST_MODEL,
    RESPONSE_MODEL,
    RETRIES,
    RUN_BOUNDARIES,
    SECOND_BOUNDARIES,
    TIME_TO_FIRST_CHUNK,
    TOKEN_BOUNDARIES,
    TOKEN_TYPE,
    TOKEN_USAGE,
    TOOL,
    TOOL_DURATION,
)
from tactician.llm import CircuitClosed, CircuitOpened, ModelFellBack, RequestDelayed, RequestRetried, Usage


class Metrics:
    """Instruments of a meter, and what they measure.

    Args:
        meter: the meter.
    """

    def __init__(self, meter: Meter) -> None:
        def measure(name: str, description: str, bounds: Sequence[float], unit: str = "s") -> Histogram:
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds)

        self._tokens = measure(TOKEN_USAGE, "Number of input and output tokens used", TOKEN_BOUNDARIES, "{token}")
        self._operations = measure(OPERATION_DURATION, "Duration of calls of models", SECOND_BOUNDARIES)
        self._first_chunks = measure(TIME_TO_FIRST_CHUNK, "Time to the first piece of an answer", SECOND_BOUNDARIES)
        self._agents = measure(AGENT_DURATION, "Duration of runs", RUN_BOUNDARIES)
        self._tools = measure(TOOL_DURATION, "Duration of tool calls", SECOND_BOUNDARIES)
        self._plans = measure(PLANNING_DURATION, "Duration of decisions of planners", SECOND_BOUNDARIES)
        self._queues = measure(QUEUE_DURATION, "Waits for limits and open circuits of a router", SECOND_BOUNDARIES)
        self._costs = meter.create_counter(COST, "{USD}", "Cost of calls of models whose price is known")
        self._retries = meter.create_counter(RETRIES, "{request}", "Requests of a router that were sent again")
        self._fallbacks = meter.create_counter(FALLBACKS, "{request}", "Requests that went to another model")
        self._circuits = meter.create_up_down_counter(OPEN_CIRCUITS, "{circuit}", "Open circuits of routers")
        self._open_circuits: set[tuple[str, str]] = set()

    def record_call(
        self, operation: str, model: str, seconds: float, usage: Usage, answered: str = "", error: str | None = None
    ) -> None:
        """Record a call of a model.

        Args:
            operation: operation of the conventions.
            model: name of the model.
            seconds: duration.
            usage: tokens.
            answered: name of the model as the provider reports it.
            error: description of the error, if it failed.
        """
        labels: Attributes = {OPERATION: operation, **describe_model(usage.model or model)}
        if answered:
            labels[RESPONSE_MODEL] = answered
        self._operations.record(seconds, _with_error(labels, error))
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if tokens:
                self._tokens.record(tokens, {**labels, TOKEN_TYPE: kind})
        if usage.requests and (cost := usage.cost):
            self._costs.add(cost, labels)

    def record_first_chunk(self, model: str, seconds: float) -> None:
        """Record how long the first piece of an answer took."""
        self._first_chunks.record(seconds, {OPERATION: CHAT, **describe_model(model)})

    def record_run(self, name: str, seconds: float, error: str | None) -> None:
        """Record a run, with the class of its error."""
        self._agents.record(seconds, {AGENT: name} if error is None else {AGENT: name, ERROR_TYPE: error})

    def record_tool(self, name: str, seconds: float, error: str | None) -> None:
        """Record a tool call, with the class of its error."""
        self._tools.record(seconds, {TOOL: name} if error is None else {TOOL: name, ERROR_TYPE: error})

    def record_plan(self, name: str, seconds: float, error: str | None) -> None:
        """Record a decision of a planner."""
        self._plans.record(seconds, _with_error({AGENT: name}, error))

    def record_routing(
        self, event: RequestDelayed | RequestRetried | ModelFellBack | CircuitOpened | CircuitClosed
    ) -> None:
        """Record what a router did."""
        match event:
            case RequestDelayed():
                labels: Attributes = {REQUEST_MODEL: event.model, INSTANCE: event.instance, REASON: event.reason}
                self._queues.record(event.seconds, labels)
            case RequestRetried():
                self._retries.add(1, {REQUEST_MODEL: event.model, INSTANCE: event.instance, ERROR_TYPE: event.error})
            case ModelFellBack():
                self._fallbacks.add(1, {REQUEST_MODEL: event.model, REASON: event.reason})
            case CircuitOpened() | CircuitClosed():
                self._record_circuit(event)

    def _record_circuit(self, event: CircuitOpened | CircuitClosed) -> None:
        """Count open circuits: a circuit that opens again after a trial call was open already."""
        circuit, labels = (event.instance, event.model), {REQUEST_MODEL: event.model, INSTANCE: event.instance}
        if isinstance(event, CircuitOpened) and circuit not in self._open_circuits:
            self._open_circuits.add(circuit)
            self._circuits.add(1, labels)
        elif isinstance(event, CircuitClosed) and circuit in self._open_circuits:
            self._open_circuits.discard(circuit)
            self._circuits.add(-1, labels)


def _with_error(labels: Attributes, error: str | None) -> Attributes:
    kind = name_error(error)
    return labels if kind is None else {**labels, ERROR_TYPE: kind}
