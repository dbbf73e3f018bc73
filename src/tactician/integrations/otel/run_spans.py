"""Spans of runs, and of the plans and actions of processes."""

from __future__ import annotations

from tactician.events import Event
from tactician.integrations.otel.attributes import (
    Attributes,
    describe_plan,
    describe_usage,
    name_error,
    shorten_name,
)
from tactician.integrations.otel.conventions import (
    ACTION,
    ACTION_OUTPUTS,
    AGENT,
    AGENT_DESCRIPTION,
    AGENT_ID,
    CONVERSATION,
    GOALS,
    INVOKE_AGENT,
    OPERATION,
    PLAN,
    RUN_ID,
    RUN_PATH,
    RUN_RESUMED,
    RUN_STATUS,
)
from tactician.integrations.otel.metrics import Metrics
from tactician.integrations.otel.span_tree import Opening, SpanTree, TracedSpan
from tactician.llm.usage import UsageTally
from tactician.process import (
    ActionCompleted,
    ActionResumed,
    ActionStarted,
    ActionSuspended,
    PlanningEnded,
    PlanningStarted,
    ProcessEnded,
    ProcessStarted,
)
from tactician.runs import RunEnded, RunStarted, RunStatus
from tactician.secrets import mask_secrets

_RESTING = frozenset({RunStatus.WAITING, RunStatus.PAUSED, RunStatus.STUCK, RunStatus.RESTING})
_FAILED = frozenset({RunStatus.FAILED, RunStatus.TERMINATED, RunStatus.KILLED, RunStatus.STUCK})


class RunSpans:
    """Spans of runs, plans and actions.

    A process that a Runnable runs is the run of that Runnable, so that both share a span.

    Args:
        tree: the open spans.
        metrics: the metrics of runs.
        content: true to record messages of errors.
    """

    def __init__(self, tree: SpanTree, metrics: Metrics, *, content: bool) -> None:
        self._tree = tree
        self._metrics = metrics
        self._content = content

    def start_run(self, event: RunStarted) -> None:
        """Begin the span of a run."""
        is_own = event.is_resumed or len(event.path) == 1  # those inside inherit it, and have a span around them
        attributes: Attributes = {RUN_RESUMED: True} if event.is_resumed else {}
        self._start(event, attributes, event.trace_parent if is_own else None)

    def end_run(self, event: RunEnded) -> None:
        """End the span of a run."""
        begun = self._tree.find_run(event.run_id)
        if begun is not None:
            error = name_error(event.error) or (event.status.value if event.status in _FAILED else None)
            self._end(event, begun, event.status, event.tally, event.seconds, error, event.error)

    def start_process(self, event: ProcessStarted) -> None:
        """Begin the span of a process, or add its goals to the span of its run."""
        begun = self._tree.find_run(event.run_id)
        if begun is not None:
            begun.span.set_attribute(GOALS, event.goals)
            return
        parent = event.trace_parent if len(event.path) == 1 else None
        self._start(event, {GOALS: event.goals}, parent)

    def end_process(self, event: ProcessEnded) -> None:
        """End the span of a process that no other run is around."""
        begun = self._tree.find_run(event.run_id)
        if begun is None:
            return
        if GOALS not in begun.attributes:  # `RunEnded` follows
            begun.span.set_attribute(RUN_STATUS, event.status.value)
            return
        error = event.status.value if event.status in _FAILED else None
        self._end(event, begun, event.status, event.tally, event.seconds, error, event.failure)

    def start_plan(self, event: PlanningStarted) -> None:
        """Begin the span of a decision."""
        name = _name(event)
        attributes: Attributes = {OPERATION: PLAN, AGENT: name}
        self._tree.start(event, Opening(name=f"{PLAN} {name}", attributes=attributes))

    def end_plan(self, event: PlanningEnded) -> None:
        """End the span of a decision."""
        self._metrics.record_plan(_name(event), event.seconds, event.error)
        if (begun := self._tree.find_closed_by(event)) is not None:
            error, detail = name_error(event.error), event.error if self._content else None
            self._tree.end(event, begun, describe_plan(event.plan), error, detail)

    def start_action(self, event: ActionStarted | ActionResumed) -> None:
        """Begin the span of an action."""
        attributes: Attributes = {ACTION: event.action, AGENT: _name(event)}
        if isinstance(event, ActionResumed):
            attributes[RUN_RESUMED] = True
        self._tree.start(event, Opening(name=f"action {event.action}", attributes=attributes))

    def complete_action(self, event: ActionCompleted) -> None:
        """End the span of an action."""
        if (begun := self._tree.find_closed_by(event)) is not None:
            attributes = {ACTION_OUTPUTS: event.outputs, **describe_usage(event.tally.total)}
            detail = event.error if self._content else None
            self._tree.end(event, begun, attributes, name_error(event.error), detail)

    def suspend_action(self, event: ActionSuspended) -> None:
        """End the span of an action that waits: another begins when it continues."""
        if (begun := self._tree.find_closed_by(event)) is not None:
            self._tree.end(event, begun, {RUN_STATUS: RunStatus.WAITING.value}, None, None)

    def _start(self, event: RunStarted | ProcessStarted, more: Attributes, trace_parent: str | None) -> None:
        name = _name(event)
        attributes: Attributes = {OPERATION: INVOKE_AGENT, AGENT: name, RUN_ID: event.run_id}
        said = {AGENT_ID: event.agent_id, AGENT_DESCRIPTION: event.description, CONVERSATION: event.conversation_id}
        attributes |= {key: shorten_name(mask_secrets(value)) for key, value in said.items() if value}
        attributes |= {RUN_PATH: "/".join(map(shorten_name, event.path)), **more}
        opening = Opening(
            name=f"{INVOKE_AGENT} {name}",
            attributes=attributes,
            trace_parent=trace_parent,
        )
        self._tree.start(event, opening)

    def _end(
        self,
        event: Event,
        begun: TracedSpan,
        status: RunStatus,
        tally: UsageTally,
        seconds: float,
        error: str | None,
        detail: str | None,
    ) -> None:
        self._metrics.record_run(_name(event), seconds, error)
        if status in _RESTING:
            self._tree.note_rest(event.run_id, begun)
        attributes = {RUN_STATUS: status.value, **describe_usage(tally.total)}
        self._tree.end(event, begun, attributes, error, detail if self._content else None)


def _name(event: Event) -> str:
    return shorten_name(event.path[-1]) if event.path else "run"
