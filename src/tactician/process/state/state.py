"""All that a process remembers between two of its steps: status, history, waiting actions, the order of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final
from weakref import WeakValueDictionary

import pydantic

from tactician.errors import Replan
from tactician.frozen import frozen
from tactician.llm import Usage
from tactician.llm.usage import UsageTally
from tactician.planning import Action, Plan
from tactician.process.board.blackboard import Blackboard
from tactician.process.board.order import Order
from tactician.process.state.goals import GoalSpec
from tactician.runs import OutputError, PendingRequest, RunStatus
from tactician.runs.outcomes.suspension import Response
from tactician.stores.checks import escape_invalid

ProcessStatus = RunStatus
"""Status of a process, the same as for any run."""


@frozen(enforced=False)
class ActionRun:
    """Entry of the history of a process: an action that was run. The history is stored in the form of its entries.

    Attributes:
        started_at: seconds since the epoch.
        seconds: duration, with all attempts.
        tally: usage of its model calls.
        outputs: the names of the types of its results.
        error: what it raised, as text; `None` when it succeeded. After `Replan: ...` the process continued.
        attempts: number of attempts.
        children: the processes that ran inside it.
    """

    action: str
    started_at: float
    seconds: float
    tally: Annotated[UsageTally, pydantic.Field(alias="usage")] = field(repr=False)
    outputs: tuple[str, ...] = ()
    error: str | None = None
    attempts: int = 1
    children: tuple[ChildRun, ...] = ()

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of its model calls; `None` when a price is not known."""
        return self.usage.cost


@frozen
class ChildRun:
    """Process that ran inside an action.

    Attributes:
        id: its id, which its events carry as `run_id`.
        agent: the name of its agent.
        status: its status in the end.
        failure: why it failed, is stuck, or was ended early.
        history: the actions that it ran, oldest first.
    """

    id: str
    agent: str
    status: ProcessStatus
    failure: str | None = None
    history: tuple[ActionRun, ...] = ()


@frozen
class WaitingAction:
    """Action that waits, and the requests it waits for. Its checkpoint has what it has done."""

    pending: tuple[PendingRequest, ...]


_plans: Final[WeakValueDictionary[tuple[object, ...], Plan]] = WeakValueDictionary()


def _share(plan: Plan) -> Plan:
    """Return the plan that all processes have that wait with the same plan."""
    # A plan that is there keeps its goal and actions alive, so that no others can come by their ids.
    return _plans.setdefault((id(plan.goal), *map(id, plan.actions), plan.costs, plan.value), plan)


REVIEW: Final = "plan review"
"""The name of the action in which a process waits for a decision on its plan. It counts for no rule."""
PLAN_DECISION: Final = "PlanDecision"
"""What the history says that a plan review gave."""


@dataclass(slots=True)
class PlanReviewState:
    """State of the reviews of a process.

    Attributes:
        approved: the actions of the plan that was approved; `None` before.
        shown: the actions of the plan that is reviewed.
        prompt: its description.
        refused: the plans that were rejected.
        reason: why the last was.
        rules: the rules that people have added, as data.
    """

    approved: tuple[str, ...] | None = None
    shown: tuple[str, ...] = ()
    prompt: str = ""
    refused: list[tuple[str, ...]] = field(default_factory=list)
    reason: str = ""
    rules: list[dict[str, object]] = field(default_factory=list)


@dataclass(slots=True)
class ProcessState:
    """State of a process.

    Attributes:
        blackboard: all that is known so far.
        goal: the goal that was reached.
        failure: why the process failed, is stuck, or was terminated; or why nothing answers the last message.
        history: the actions that were run.
        declined: an action that has just returned `None`: the next plan does without it.
        waiting: the actions that wait, by their names.
        responses: the answers to them, by the ids of the requests.
        unused: ids of the requests that had an answer already when their action waited for them again in this run.
        unanswered: name of the last action that got no valid answer of a model, with the error, unless another gave
            something.
        seconds: duration of the run so far, without the time in which it waited.
        unstickings: number of times that the agent was asked to help since the last action.
        replans: number of actions in a row that asked to plan again.
        rule_states: the states of the rules at the last decision, by their texts.
        rule_timers: for rules with a time, since when they wait for something, in seconds since the epoch.
        rules_read: number of entries of the history that the rules have read.
        review: the reviews of plans; `None` without any.
        order: the order in which results go onto the blackboard.
        began_at: time of creation, in seconds since the epoch.
        plan: the plan that is followed; `None` before the first plan, and once the process is stuck or has ended.
    """

    blackboard: Blackboard
    status: ProcessStatus = ProcessStatus.NOT_STARTED
    goal: GoalSpec | None = None
    failure: str | None = None
    history: list[ActionRun] = field(default_factory=list)
    declined: Action | None = None
    waiting: dict[str, WaitingAction] = field(default_factory=dict)
    responses: dict[str, Response] = field(default_factory=dict)
    unstickings: int = 0
    replans: int = 0
    order: Order = field(default_factory=Order)
    began_at: float = 0.0
    plan: Plan | None = None
    unused: tuple[str, ...] = ()
    unanswered: tuple[str, OutputError] | None = None
    seconds: float = 0.0
    rule_states: dict[str, int] | None = None
    rule_timers: dict[str, float] = field(default_factory=dict)
    rules_read: int = 0
    review: PlanReviewState | None = None
    _counts: dict[str, int] | None = field(default=None, repr=False)
    _counted: int = 0

    def compact(self) -> None:
        """Free what is only of use while the process runs, and share what it has in common with others."""
        self.blackboard.forget_lookups()
        if self.plan is not None:
            self.plan = _share(self.plan)

    def count_runs(self, action: str) -> int:
        """Return the number of times that an action has run. The history only grows, and is counted once."""
        if self._counts is None:
            self._counts = {}
        for run in self.history[self._counted :]:
            self._counts[run.action] = self._counts.get(run.action, 0) + 1
        self._counted = len(self.history)
        return self._counts.get(action, 0)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """The requests that the process waits for: none, once it has ended."""
        if self.status.is_terminal:
            return ()
        return tuple(request for waiting in self.waiting.values() for request in waiting.pending)

    @property
    def answered(self) -> list[str]:
        """The waiting actions that can continue: an answer has come, or they wait for a paused process inside."""
        answers = self.responses.keys() - set(self.unused)
        return [
            name
            for name, waiting in self.waiting.items()
            if not waiting.pending or any(request.id in answers for request in waiting.pending)
        ]

    @property
    def has_to_wait(self) -> bool:
        """True when no answer has come yet. An action that waits for a paused process inside waits for no answer."""
        if self.status is not ProcessStatus.WAITING or not all(action.pending for action in self.waiting.values()):
            return False
        return not any(request.id in self.responses for request in self.pending)

    def end(self, status: ProcessStatus, failure: str | None = None) -> None:
        """Change the status of a running process: this is the only place. A final status stays."""
        if self.status.may_become(status):
            self.status = status
            self.failure = None if failure is None else escape_invalid(failure)  # it may quote what cannot be stored
            has_no_plan = status in (ProcessStatus.STUCK, ProcessStatus.RESTING)
            if has_no_plan or status.is_terminal:
                self.plan = None
            if has_no_plan:  # somebody may help, or say more: then all actions are planned with again
                self.declined, self.replans = None, 0

    def count(self, replan: Replan | None) -> None:
        """Count an action that has ended, and may have asked to plan again.

        An action that ran beside another that asked does not add to the attempts of the other.
        """
        if replan is not None:
            self.replans += 1
            return
        self.unstickings = 0
        if self.declined is None:
            self.replans = 0

    def take_responses(self, responses: Mapping[str, Response]) -> None:
        """Take the answers that the process waits for."""
        waits_for = {request.id for request in self.pending}
        self.responses.update({name: response for name, response in responses.items() if name in waits_for})

    def answer_overdue(self, now: float) -> None:
        """Give the default answers to requests that nobody has answered in time."""
        for request in self.pending:
            if request.is_overdue(now):
                self.responses.setdefault(request.id, request.default)

    def wait(self, action: str, waiting: WaitingAction) -> None:
        """Note that an action waits. Forget answers that were not valid."""
        self.waiting[action] = waiting
        for request in waiting.pending:
            if request.problem is not None:
                self.responses.pop(request.id, None)
            if request.id in self.responses:
                self.unused = (*self.unused, request.id)

    def forget_waiting(self, action: str) -> None:
        """Note that an action no longer waits: the answers to its requests are used up."""
        if (waited := self.waiting.pop(action, None)) is not None:
            for request in waited.pending:
                self.responses.pop(request.id, None)
