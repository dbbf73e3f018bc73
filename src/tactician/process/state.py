"""All that a process remembers between two of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time

from tactician.errors import Replan
from tactician.planning import Action, Plan
from tactician.process.blackboard import Blackboard
from tactician.process.history import ActionRun
from tactician.process.ordering import Order
from tactician.process.performing import WaitingAction
from tactician.process.spec import GoalSpec
from tactician.process.status import ProcessStatus
from tactician.runs import PendingRequest, Response


@dataclass(slots=True)
class ProcessState:
    """Where a process stands, and what it knows.

    Attributes:
        blackboard: all that is known so far.
        goal: the goal that was reached.
        failure: why the process failed, is stuck, or was terminated.
        history: the actions that were run.
        declined: an action that has just given nothing: the next plan has to do without it.
        waiting: the actions that wait, by their names.
        responses: what they are told, by the ids of their requests.
        unstickings: how often the agent was asked to help since the last action.
        replans: how many actions in a row asked to plan again.
        order: in which order results go onto the blackboard.
        began_at: when it was made, in seconds since the epoch.
        plan: the plan that is followed; `None` when there is none, and once the process is stuck or has ended.
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
    began_at: float = field(default_factory=time)
    plan: Plan | None = None

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """What the process waits for: nothing, once it has ended."""
        if self.status.is_terminal:
            return ()
        return tuple(request for waiting in self.waiting.values() for request in waiting.pending)

    @property
    def has_to_wait(self) -> bool:
        """Whether nothing has come of what it waits for. A process inside that was paused waits for nothing."""
        if self.status is not ProcessStatus.WAITING or not all(one.pending for one in self.waiting.values()):
            return False
        return not any(one.id in self.responses for one in self.pending)

    def end(self, status: ProcessStatus, failure: str | None = None) -> None:
        """The only place where a running process changes its status. A final status stays."""
        if self.status.may_become(status):
            self.status = status
            self.failure = failure
            if status is ProcessStatus.STUCK or status.is_terminal:
                self.plan = None
            if status is ProcessStatus.STUCK:  # somebody may help: then all actions are planned with again
                self.declined, self.replans = None, 0

    def count(self, replan: Replan | None) -> None:
        """An action has ended, and may have asked to plan again."""
        if replan is None:
            self.unstickings = self.replans = 0
        else:
            self.replans += 1

    def answer_overdue(self, now: float) -> None:
        """Gives the default answers of requests that nobody has answered in time."""
        for request in self.pending:
            if request.deadline is not None and request.deadline <= now:
                self.responses.setdefault(request.id, request.default)

    def wait(self, action: str, waiting: WaitingAction) -> None:
        """The action waits. Answers that were not valid are forgotten."""
        self.waiting[action] = waiting
        for request in waiting.pending:
            if request.problem is not None:
                self.responses.pop(request.id, None)

    def forget_waiting(self, action: str) -> None:
        """The action waits no longer, and what it was told is used up."""
        if (waited := self.waiting.pop(action, None)) is not None:
            for request in waited.pending:
                self.responses.pop(request.id, None)
