"""The events of processes."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event
from tactician.llm import AssistantMessage, UsageTally
from tactician.planning import Plan
from tactician.process.status import ProcessStatus


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
