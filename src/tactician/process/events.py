"""Events of processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tactician.events import Event, encode
from tactician.llm import AssistantMessage, UsageTally
from tactician.planning import Action, Plan
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
    """Return a plan as JSON, with what its actions were estimated to cost."""
    actions = [_encode_action(action, cost) for action, cost in zip(plan.actions, plan.costs, strict=True)]
    goal, rest = plan.goal, plan.value - sum(0.0 if callable(one.value) else one.value for one in plan.actions)
    worth = rest if callable(goal.value) else goal.value
    return {
        "goal": {"name": goal.name, "conditions": dict(goal.conditions), "value": worth},
        "actions": list(actions),
        "costs": list(plan.costs),
        "value": plan.value,
    }


def _encode_action(action: Action, cost: float) -> dict[str, JsonValue]:
    return {
        "name": action.name,
        "pre": dict(action.pre),
        "effects": dict(action.effects),
        "cost": cost,
        "value": 0.0 if callable(action.value) else action.value,
    }
