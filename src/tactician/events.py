"""The one event stream: what happens in a run, for progress views, logs, traces and tests.

Events are plain frozen dataclasses. A sink is any callable that takes one. Nothing is built when nobody
listens: code that emits asks for `context.sink` first.

What a sink raises ends the run that tells it. A process, and what runs inside it, goes on: there it is logged, by the
logger `tactician.process`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tactician.guardrails import GuardrailKind, GuardrailOutcome
    from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, ToolCall, ToolResult, UsageTally
    from tactician.planning import Plan
    from tactician.process import ProcessStatus
    from tactician.runs import PendingRequest, RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in the run `run_id`, whose names from the outermost inwards are `path`.

    A router is asked outside of runs too: then its events have an empty `run_id`.
    """

    run_id: str
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A request is about to go to a model; `turn` counts from 1."""

    turn: int
    model: str
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReceived(Event):
    """A few more characters of an answer (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingReceived(Event):
    """A few more characters of thinking (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(Event):
    """A model answered."""

    turn: int
    response: ModelResponse
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRejected(Event):
    """The answer is not a valid object of the output type; `reason` goes back to the model."""

    attempt: int
    message: AssistantMessage
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Event):
    """A tool has run; `result.is_error` tells whether it failed."""

    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialReceived(Event):
    """As much of a structured answer as has come (streaming runs only).

    Attributes:
        value: of a pydantic model, one that has the fields that have come; of a list, the items that have; of anything
            else, what has come as JSON values.
    """

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(Event):
    """An agent hands the conversation to `target`, which will answer; `message` is what it says to it."""

    target: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChosen(Event):
    """A router sends its input to `target`; `fallback` when no route fits."""

    target: str
    description: str
    fallback: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSummarized(Event):
    """A model was asked to sum up the oldest `messages` of a long conversation; `error` says why it did not."""

    messages: int
    summary: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(Event):
    """The run ends for now: it waits for these."""

    pending: tuple[PendingRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailChecked(Event):
    """A guardrail has decided; `reason` says why, unless the outcome is `"passed"`."""

    guardrail: str
    kind: GuardrailKind
    outcome: GuardrailOutcome
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted(Event):
    """The run has its result: the last event of every stream."""

    result: RunResult[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStarted(Event):
    """A process begins to work towards the goals of `agent`."""

    agent: str
    goals: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMade(Event):
    """The planner chose a plan that is not simply the rest of the last one."""

    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStarted(Event):
    """An action is about to run."""

    action: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCompleted(Event):
    """An action has run, or raised `error`. `outputs` names the types that it gave."""

    action: str
    seconds: float
    tally: UsageTally
    outputs: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(Event):
    """An action tells the people outside something, and goes on."""

    message: AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded(Event):
    """The process stopped working; `failure` says why when it did not reach its goal."""

    status: ProcessStatus
    seconds: float
    tally: UsageTally
    failure: str | None = None


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


EventSink: TypeAlias = Callable[[Event], None]
