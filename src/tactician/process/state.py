"""All that a process remembers between two of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from tactician.planning import Action
from tactician.process.blackboard import Blackboard
from tactician.process.history import ActionRun
from tactician.process.performing import WaitingAction
from tactician.process.spec import GoalSpec
from tactician.process.status import ProcessStatus
from tactician.runs import Response


@dataclass(slots=True)
class ProcessState:
    """Where a process stands, and what it knows.

    Attributes:
        blackboard: all that is known so far.
        goal: the goal that was reached.
        failure: why the process failed, is stuck, or was terminated.
        history: the actions that were run.
        ran: the names of those that have run to their end, and have not been reset since.
        declined: an action that has just given nothing: the next plan has to do without it.
        waiting: the actions that wait, by their names.
        responses: what they are told, by the ids of their requests.
        unstickings: how often the agent was asked to help since the last action.
    """

    blackboard: Blackboard
    status: ProcessStatus = ProcessStatus.NOT_STARTED
    goal: GoalSpec | None = None
    failure: str | None = None
    history: list[ActionRun] = field(default_factory=list)
    ran: set[str] = field(default_factory=set)
    declined: Action | None = None
    waiting: dict[str, WaitingAction] = field(default_factory=dict)
    responses: dict[str, Response] = field(default_factory=dict)
    unstickings: int = 0
