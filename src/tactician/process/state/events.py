"""Events of processes, and their log at the level INFO."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, ClassVar

from tactician.events import Event
from tactician.events.encoding import encode
from tactician.events.span_facts import MomentName, RunMoment, SpanFacts, SpanKind
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import AssistantMessage
from tactician.llm.usage import UsageTally
from tactician.planning import Action, Plan
from tactician.process.state.state import ProcessStatus

if TYPE_CHECKING:
    from pydantic import JsonValue


@frozen(kw_only=True)
class ProcessStarted(Event):
    """A process begins to work towards the goals of `agent`."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.RUN
    enters: ClassVar[bool] = False  # a caller that makes single steps may do other things between them

    agent: str
    goals: tuple[str, ...]
    trace_parent: str | None = None
    conversation_id: str | None = None
    agent_id: str = ""
    description: str = ""

    @property
    def subject(self) -> str:
        """Name of the agent. The name of an agent that the platform assembles only repeats its goal."""
        return "Platform" if self.agent.startswith(("towards ", "led towards ")) else self.agent

    def describe(self) -> str:
        """Return the goals, unless the name of the agent says them."""
        return f"starts towards {self._describe_goals()}" if self.subject == self.agent else "starts"

    def describe_span(self) -> SpanFacts:
        """Return the name of the process and its goals."""
        return SpanFacts(self.path[-1] if self.path else self.agent, facts={"goals": self.goals})

    def describe_moment(self) -> RunMoment | None:
        """Return that the process begins."""
        return RunMoment(MomentName.STARTED, {"agent": self.subject, "goals": self._describe_goals()})

    def _describe_goals(self) -> str:
        return ", ".join(self.goals) or "whatever is worth most"


@frozen(kw_only=True)
class PlanningStarted(Event):
    """The planner begins to decide what to do next; a condition may have to ask a model for that."""

    opens: ClassVar[str | None] = SpanKind.PLAN

    def describe(self) -> str:
        """Return that the planner begins."""
        return "plans"

    def describe_span(self) -> SpanFacts:
        """Return the name of the span."""
        return SpanFacts("plan")


@frozen(kw_only=True)
class PlanningEnded(Event):
    """The planner has decided: for a `plan`, or none. `error` is what it raised."""

    closes: ClassVar[str | None] = SpanKind.PLAN

    plan: Plan | None
    seconds: float
    error: str | None = None

    def describe_span(self) -> SpanFacts:
        """Return the plan."""
        steps = [] if self.plan is None else [action.name for action in self.plan.actions]
        return SpanFacts(error=self.error, facts={"steps": steps})

    def describe(self) -> str:
        """Return the plan, or the reason for its lack."""
        outcome = "no plan" if self.plan is None else f"the plan {self.plan}"
        return f"finds {outcome if self.error is None else self.error}, {self.seconds * 1000:.1f} ms"


@frozen(kw_only=True)
class PlanMade(Event):
    """The planner chose a plan that is not simply the rest of the last plan."""

    usual_level: ClassVar[int] = logging.INFO

    plan: Plan

    def describe(self) -> str:
        """Return the plan."""
        return f"plans {self.plan}{'' if self.plan.optimal else f' ({self.plan.quality})'}"

    def describe_moment(self) -> RunMoment | None:
        """Return that there is a plan."""
        return RunMoment(MomentName.PLANNED, {"plan": " → ".join(action.name for action in self.plan.actions)})


@frozen(kw_only=True)
class ActionEvent(Event):
    """Base class of the events of an action."""

    action: str

    @property
    def span_key(self) -> str:
        """The name of the action."""
        return self.action


@frozen(kw_only=True)
class ActionStarted(ActionEvent):
    """An action is about to run."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.ACTION

    description: str

    def describe_span(self) -> SpanFacts:
        """Return the name of the action."""
        return SpanFacts(self.action)

    def describe(self) -> str:
        """Return which action starts."""
        return f"{self.action} starts"

    def describe_moment(self) -> RunMoment | None:
        """Return that the action begins."""
        return RunMoment(MomentName.ACTING, {"action": self.action})


@frozen(kw_only=True)
class ActionRefused(ActionEvent):
    """An action was not started, as it would break `rules`."""

    usual_level: ClassVar[int] = logging.WARNING

    rules: tuple[str, ...]

    def describe(self) -> str:
        """Return which action was not started, and why."""
        return f"{self.action} was not started: {', '.join(self.rules)}"


@frozen(kw_only=True)
class ActionSuspended(ActionEvent):
    """An action waits: for answers, or for a process inside it that is paused."""

    usual_level: ClassVar[int] = logging.INFO
    closes: ClassVar[str | None] = SpanKind.ACTION

    def describe(self) -> str:
        """Return which action waits."""
        return f"{self.action} waits"

    def describe_span(self) -> SpanFacts:
        """Return that the action waits."""
        return SpanFacts(status="waiting")


@frozen(kw_only=True)
class ActionResumed(ActionEvent):
    """An action that waited continues, from its beginning, with what it has done and was answered."""

    usual_level: ClassVar[int] = logging.INFO
    opens: ClassVar[str | None] = SpanKind.ACTION

    def describe(self) -> str:
        """Return which action continues."""
        return f"{self.action} continues"

    def describe_span(self) -> SpanFacts:
        """Return the name of the action."""
        return SpanFacts(self.action)


@frozen(kw_only=True)
class ActionCompleted(ActionEvent):
    """An action has run, or raised `error`. `outputs` names the types that it gave."""

    closes: ClassVar[str | None] = SpanKind.ACTION

    seconds: float
    tally: UsageTally
    outputs: tuple[str, ...] = ()
    error: str | None = None

    def describe_span(self) -> SpanFacts:
        """Return the types that the action gave."""
        return SpanFacts(error=self.error, facts={"outputs": self.outputs})

    @property
    def level(self) -> int:
        """Level `WARNING` of an action that raised, else `INFO`."""
        return logging.INFO if self.error is None else logging.WARNING

    def describe(self) -> str:
        """Return what the action gave and used."""
        gave = f"gave {' and '.join(self.outputs) or 'nothing'}" if self.error is None else f"raised {self.error}"
        return f"{self.action} {gave}, {_format_usage(self.seconds, self.tally)}"

    def describe_moment(self) -> RunMoment | None:
        """Return that the action has ended."""
        name = MomentName.ACTED if self.error is None else MomentName.FAILED
        return RunMoment(name, {"action": self.action})


@frozen(kw_only=True)
class MessageSent(Event):
    """An action tells the people outside something, and continues."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("message.parts",)

    message: AssistantMessage

    def describe(self) -> str:
        """Return the text of the message to people."""
        return "tells people something"


@frozen(kw_only=True)
class ProgressReported(Event):
    """An action tells the people outside what it is doing."""

    content_fields: ClassVar[tuple[str, ...]] = ("text",)

    text: str

    def describe(self) -> str:
        """Return what the action is doing."""
        return self.text


@frozen(kw_only=True)
class ProcessEnded(Event):
    """The process stopped working; `failure` says why when it did not reach its goal."""

    closes: ClassVar[str | None] = SpanKind.RUN

    status: ProcessStatus
    seconds: float
    tally: UsageTally
    failure: str | None = None

    def describe_span(self) -> SpanFacts:
        """Return how the process ended."""
        return SpanFacts(status=self.status.value, error=self.failure)

    @property
    def level(self) -> int:
        """Level `ERROR` of a process that failed, else `INFO`."""
        return logging.ERROR if self.status is ProcessStatus.FAILED else logging.INFO

    def describe(self) -> str:
        """Return how the process ended, and what it used."""
        why = "" if self.failure is None else f": {self.failure}"
        return f"{self.status.sentence}, {_format_usage(self.seconds, self.tally)}{why}"

    def describe_moment(self) -> RunMoment | None:
        """Return how the process ended."""
        moments = {ProcessStatus.COMPLETED: MomentName.COMPLETED, ProcessStatus.WAITING: MomentName.WAITING}
        return RunMoment(moments.get(self.status, MomentName.ENDED), {"status": str(self.status)})


@encode.register(Plan)
def _(plan: Plan, depth: int = 0) -> JsonValue:
    """Return a plan as JSON, with what its actions were estimated to cost, and how good it is known to be."""
    actions = [_encode_action(action, cost, depth + 1) for action, cost in zip(plan.actions, plan.costs, strict=True)]
    goal, rest = plan.goal, plan.value - sum(0.0 if callable(step.value) else step.value for step in plan.actions)
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
        **({} if plan.max_parallel == 1 else {"max_parallel": plan.max_parallel, "keeps_order": plan.keeps_order}),
    }


def _encode_action(action: Action, cost: float, depth: int) -> dict[str, JsonValue]:
    return {
        "name": action.name,
        "pre": dict(action.pre),
        "effects": dict(action.effects),
        "cost": cost,
        "value": 0.0 if callable(action.value) else action.value,
        **({} if action.estimate is None else {"estimate": encode(action.estimate, depth)}),
    }


def _format_usage(seconds: float, tally: UsageTally) -> str:
    return f"{seconds:.2f} s, {format_count(tally.total.total_tokens, 'token')}"
