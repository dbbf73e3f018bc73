"""Listener that turns events into spans and metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider, get_current_span

from tactician.agents import RouteChosen
from tactician.conversation import ConversationSummarized
from tactician.events import Event
from tactician.events.span_facts import SpanKind
from tactician.guardrails import GuardrailChecked
from tactician.integrations.otel.attributes import Attributes, Value, name_error, shorten_name
from tactician.integrations.otel.call_spans import CallSpans
from tactician.integrations.otel.conventions import RUN_ID, RUN_STATUS, SCHEMA_URL, SCOPE, SPAN_KIND, TASK_ID
from tactician.integrations.otel.metrics import Metrics
from tactician.integrations.otel.run_spans import RunSpans
from tactician.integrations.otel.span_tree import Opening, SpanTree, find_run_trace
from tactician.llm import (
    CircuitClosed,
    CircuitOpened,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
    Usage,
)
from tactician.llm.usage import calculate_cost
from tactician.loop import (
    HandedOff,
    OutputRejected,
    TextReceived,
    ThinkingReceived,
    ToolCalled,
    ToolInterrupted,
    ToolReturned,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.process import (
    ActionCompleted,
    ActionResumed,
    ActionStarted,
    ActionSuspended,
    MessageSent,
    PlanningEnded,
    PlanningStarted,
    ProcessEnded,
    ProcessStarted,
)
from tactician.runs import (
    ModelCalled,
    ModelReturned,
    RetrievalEnded,
    RetrievalStarted,
    RunEnded,
    RunStarted,
    RunSuspended,
)
from tactician.runs.context.telemetry import set_trace_source

_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")
_TOLD: Final = (
    "model",
    "instance",
    "next_instance",
    "fallback",
    "target",
    "attempt",
    "seconds",
    "delay",
    "guardrail",
    "kind",
    "outcome",
    "messages",
)
"""Fields of events that are names and numbers. Others, such as reasons, may be content."""
_WORDS: Final = ("RequestDelayed", "ModelFellBack", "RequestRetried", "CircuitOpened")
"""Events whose `reason` and `error` are kinds, and no content."""
_NOTED: Final = (
    RequestRetried,
    RequestDelayed,
    ModelFellBack,
    CircuitOpened,
    CircuitClosed,
    HandedOff,
    OutputRejected,
    GuardrailChecked,
    ConversationSummarized,
    RouteChosen,
    MessageSent,
    RunSuspended,
)
"""Events that become events of the span in which they happen."""
Handler = Callable[..., None]


def note_event(tree: SpanTree, event: Event) -> None:
    """Add an event to the span in which it happens; outside of ours, to the span of the program."""
    parent = tree.find_around(event)
    span = get_current_span() if parent is None else parent.span
    if not span.is_recording():
        return
    fields = (*_TOLD, "reason", "error") if event.type in _WORDS else _TOLD
    values = {name: value for name in fields if (value := _read(event, name)) is not None}
    span.add_event(
        f"tactician.{_WORD.sub('_', event.type).lower()}",
        {f"tactician.{name}": value for name, value in values.items()},
        int(event.time * 1_000_000_000),
    )


def _read(event: Event, name: str) -> Value | None:
    value = getattr(event, name, None)
    if isinstance(value, str):
        return shorten_name(value)
    return value if isinstance(value, bool | int | float) else None


class OtherSpans:
    """Spans that events say by themselves that they open and close.

    Args:
        tree: the open spans.
        content: true to record messages of errors.
    """

    def __init__(self, tree: SpanTree, *, content: bool) -> None:
        self._tree = tree
        self._content = content

    def follow(self, event: Event) -> None:
        """Begin or end the span that an event opens or closes, if any."""
        if event.closes is not None:
            self._end(event)
        elif event.opens is not None:
            self._start(event, event.opens)

    def _start(self, event: Event, kind: str) -> None:
        name = shorten_name(event.describe_span().name or event.span_key)
        attributes: Attributes = {SPAN_KIND: shorten_name(kind), RUN_ID: event.run_id}
        if kind == SpanKind.TASK:
            attributes[TASK_ID] = shorten_name(event.span_key)
        self._tree.start(event, Opening(name=f"{shorten_name(kind)} {name}", attributes=attributes))

    def _end(self, event: Event) -> None:
        if (begun := self._tree.find_closed_by(event)) is not None:
            facts = event.describe_span()
            attributes = {RUN_STATUS: facts.status} if facts.status else {}
            error = name_error(facts.error) or ("failed" if facts.status == "failed" else None)
            self._tree.end(event, begun, attributes, error, facts.error if self._content else None)


class SpanListener:
    """Listener that turns events into spans and metrics of OpenTelemetry.

    Args:
        tracer_provider: maker of the tracer; the program's by default.
        meter_provider: maker of the meter; the program's by default.
        content: true to record prompts, answers, arguments and results of tools, and messages of errors.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        content: bool = False,
    ) -> None:
        release = version(SCOPE)
        tracer = (tracer_provider or trace.get_tracer_provider()).get_tracer(SCOPE, release, SCHEMA_URL)
        meter = (meter_provider or metrics.get_meter_provider()).get_meter(SCOPE, release, SCHEMA_URL)
        tree, measured = SpanTree(tracer), Metrics(meter)
        self._handlers = _list_handlers(RunSpans(tree, measured, content=content), CallSpans(tree, measured, content))
        self._others = OtherSpans(tree, content=content)
        note = partial(note_event, tree)
        for kind in _NOTED:
            self._handlers[kind] = note
        for kind in (RequestDelayed, RequestRetried, ModelFellBack, CircuitOpened, CircuitClosed):
            self._handlers[kind] = _combine(note, measured.record_routing)
        set_trace_source(find_run_trace)
        # The first price that is asked for loads all prices: now, and not while runs wait for it.
        calculate_cost("", Usage(requests=1))

    def __call__(self, event: Event) -> None:
        """Begin, end or change the spans that an event concerns."""
        self._handlers.get(type(event), self._others.follow)(event)


def _list_handlers(runs: RunSpans, calls: CallSpans) -> dict[type[Event], Handler]:
    return {
        RunStarted: runs.start_run,
        RunEnded: runs.end_run,
        ProcessStarted: runs.start_process,
        ProcessEnded: runs.end_process,
        PlanningStarted: runs.start_plan,
        PlanningEnded: runs.end_plan,
        ActionStarted: runs.start_action,
        ActionResumed: runs.start_action,
        ActionCompleted: runs.complete_action,
        ActionSuspended: runs.suspend_action,
        TurnStarted: calls.start_turn,
        TextReceived: calls.note_first_chunk,
        ThinkingReceived: calls.note_first_chunk,
        TurnCompleted: calls.complete_turn,
        TurnFailed: calls.fail_turn,
        ToolCalled: calls.start_tool,
        ToolReturned: calls.end_tool,
        ToolInterrupted: calls.interrupt_tool,
        ModelCalled: calls.start_call,
        ModelReturned: calls.end_call,
        RetrievalStarted: calls.start_retrieval,
        RetrievalEnded: calls.end_retrieval,
        RequestRouted: calls.note_route,
    }


def _combine(*handlers: Handler) -> Handler:
    def handle(event: Event) -> None:
        for handler in handlers:
            handler(event)

    return handle
