"""Events of processes, and their log at the level INFO."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tactician.events import Event, EventListener, encode
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, UsageTally, join_text
from tactician.loop import PartialReceived, TextReceived, ThinkingReceived, TurnCompleted, TurnStarted
from tactician.planning import Action, Plan
from tactician.process.options import Verbosity
from tactician.process.state import ProcessStatus

if TYPE_CHECKING:
    from pydantic import JsonValue


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


@encode.register(Plan)
def _(plan: Plan, depth: int = 0) -> JsonValue:
    """Return a plan as JSON, with what its actions were estimated to cost, and how good it is known to be."""
    actions = [_encode_action(action, cost) for action, cost in zip(plan.actions, plan.costs, strict=True)]
    goal, rest = plan.goal, plan.value - sum(0.0 if callable(one.value) else one.value for one in plan.actions)
    worth = rest if callable(goal.value) else goal.value
    return {
        "goal": {"name": goal.name, "conditions": dict(goal.conditions), "value": worth},
        "actions": list(actions),
        "costs": list(plan.costs),
        "value": plan.value,
        "possible_saving": plan.possible_saving,
        "optimal": plan.optimal,
        "bound": plan.bound,
        "gap": plan.gap,
    }


def _encode_action(action: Action, cost: float) -> dict[str, JsonValue]:
    return {
        "name": action.name,
        "pre": dict(action.pre),
        "effects": dict(action.effects),
        "cost": cost,
        "value": 0.0 if callable(action.value) else action.value,
    }


_logger = logging.getLogger("tactician.process")


def create_log_sink(verbosity: Verbosity) -> EventListener:
    """Create a listener that writes events to the log."""

    def write(event: Event) -> None:
        if _logger.isEnabledFor(logging.INFO) and (line := _format_event(event, verbosity)) is not None:
            _logger.info("%s: %s", " / ".join(event.path), line)

    return write


def format_new_messages(request: ModelRequest) -> str:
    """Format the messages that are new to a model since its last answer: all, before its first."""
    messages = request.messages
    answers = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return join_text(messages[answers[-1] + 1 :] if answers else messages)


def format_response(response: ModelResponse) -> str:
    """Format the answer of a model, with the tools that it called."""
    calls = (f"{call.name}({call.arguments})" for call in response.message.tool_calls)
    return "\n".join(filter(None, (response.message.text, *calls)))


def _format_event(event: Event, verbosity: Verbosity) -> str | None:
    """Format the event, or return `None` to skip it."""
    match event:
        case ProcessStarted():
            return f"starts towards {', '.join(event.goals) or 'whatever is worth most'}"
        case PlanMade():
            return f"plans {event.plan}" if verbosity.plans else None
        case ActionStarted():
            return f"{event.action} starts"
        case ActionCompleted():
            return f"{event.action} {_format_ending(event)}, {_format_usage(event.seconds, event.tally)}"
        case MessageSent():
            return f"says {event.message.text}"
        case ProcessEnded():
            why = "" if event.failure is None else f": {event.failure}"
            return f"is {event.status}, {_format_usage(event.seconds, event.tally)}{why}"
        case TurnStarted():
            return f"prompt to {event.model}\n{format_new_messages(event.request)}" if verbosity.prompts else None
        case TurnCompleted():
            answered = event.response.model or "the model"
            return f"response of {answered}\n{format_response(event.response)}" if verbosity.responses else None
        case TextReceived() | ThinkingReceived() | PartialReceived():
            return None
        case _:
            return str(event) if verbosity.debug else None


def _format_ending(event: ActionCompleted) -> str:
    if event.error is not None:
        return f"raised {event.error}"
    return f"gave {' and '.join(event.outputs) or 'nothing'}"


def _format_usage(seconds: float, tally: UsageTally) -> str:
    return f"{seconds:.2f} s, {tally.total.total_tokens} tokens"
