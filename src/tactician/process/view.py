"""What can be read of a process: where it stands, what it has done, and what it knows."""

from __future__ import annotations

from typing import TypeVar
from weakref import WeakValueDictionary

from tactician.llm import Usage, UsageTally
from tactician.planning import Action, Plan
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard
from tactician.process.history import ActionRun, ChildRun
from tactician.process.spec import GoalSpec, PlannedAgentSpec, plannable
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.runs import PendingRequest, RunContext

T = TypeVar("T")


class ProcessView:
    """The part of an `AgentProcess` that changes nothing.

    Attributes:
        agent: what is run.
    """

    def __init__(self, agent: PlannedAgentSpec, state: ProcessState, context: RunContext) -> None:
        self.agent = agent
        self._state = state
        self._context = context
        self._inside: WeakValueDictionary[str, ProcessView] = WeakValueDictionary()

    @property
    def id(self) -> str:
        """Unique."""
        return self._context.run_id

    @property
    def blackboard(self) -> Blackboard:
        """All that is known so far."""
        return self._state.blackboard

    @property
    def status(self) -> ProcessStatus:
        """Where the process stands."""
        return self._state.status

    @property
    def goal(self) -> GoalSpec | None:
        """The goal that was reached, once it is `COMPLETED`."""
        return self._state.goal

    @property
    def plan(self) -> Plan | None:
        """The plan that is followed; `None` once the process is stuck or has ended."""
        return self._state.plan

    @property
    def failure(self) -> str | None:
        """Why the process failed, is stuck, or was terminated."""
        return self._state.failure

    @property
    def parent_id(self) -> str | None:
        """The process that this one runs inside, if any."""
        return self._context.parent_id

    @property
    def children(self) -> tuple[ChildRun, ...]:
        """The processes that have run inside this one, as they are now, oldest first."""
        ended = {child.id: child for run in self._state.history for child in run.children}
        running = {child.id: ChildRun.of(child) for child in list(self._inside.values())}
        return tuple({**ended, **running}.values())

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that were run, oldest first, failed ones included."""
        return tuple(self._state.history)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """What the process waits for: nothing, once it has ended."""
        return self._state.pending

    @property
    def tally(self) -> UsageTally:
        """What all model calls of the process used."""
        return self._context.tally

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of all model calls; `None` when a price is not known."""
        return self.usage.cost

    @property
    def result(self) -> object | None:
        """The object that reaching the goal gave; `None` before that."""
        if self.goal is None:
            return None
        kinds, binding = self.goal.output_types, self.goal.output_binding
        if binding == DEFAULT_BINDING:
            return next((value for value in reversed(self.blackboard.objects) if isinstance(value, kinds)), None)
        found = self.blackboard.named(binding, object)
        return found if isinstance(found, kinds) else None

    @property
    def plannable(self) -> tuple[Action, ...]:
        """The actions to plan with now: all, except one that has just given nothing."""
        return plannable(self.agent, self._state.declined)

    def note(self, child: ProcessView) -> None:
        """Knows of a process that begins inside this one."""
        self._inside[child.id] = child

    def last(self, wanted: type[T]) -> T | None:
        """The newest object of a type on the blackboard, or `None`."""
        return self.blackboard.last(wanted)

    def has_run(self, action: str) -> bool:
        """Whether the action has run to its end in this process, since its state was entered."""
        return self.blackboard.condition(self.agent.action(action).condition_ran)

    def times_run(self, action: str) -> int:
        """How often the action has run in this process."""
        return sum(1 for run in self._state.history if run.action == action)
