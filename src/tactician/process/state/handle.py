"""A process as those see it that run inside it, watch it or save it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TypeVar
from weakref import WeakValueDictionary

from tactician.llm import Usage
from tactician.llm.usage import UsageTally
from tactician.planning import Plan, WorldState
from tactician.process.board.blackboard import Blackboard
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.state.goals import GoalSpec
from tactician.process.state.state import ActionRun, ChildRun, ProcessState, ProcessStatus
from tactician.runs import PendingRequest, RunContext

T = TypeVar("T")


class ProcessHandle(ABC):
    """All of an `AgentProcess` but for what runs it: an action, a listener or a policy reads it, and may end it."""

    def __init__(self, state: ProcessState, context: RunContext) -> None:
        self._state = state
        self._context = context
        self._inside: WeakValueDictionary[str, ProcessHandle] = WeakValueDictionary()

    @classmethod
    def __from_run__(cls, run: RunContext) -> ProcessHandle:
        """Return the process of the action around a run.

        Raises:
            ConfigurationError: outside of actions.
        """
        return run.get(ProcessHandle)  # type: ignore[type-abstract]  # any process will do

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the agent."""

    @property
    @abstractmethod
    def instance(self) -> object:
        """The object whose methods the actions are."""

    @property
    @abstractmethod
    def goals(self) -> tuple[GoalSpec, ...]:
        """The goals of the agent."""

    @property
    def id(self) -> str:
        """Unique id, which the events of the process carry as `run_id`."""
        return self._context.run_id

    @property
    def blackboard(self) -> Blackboard:
        """All that is known so far."""
        return self._state.blackboard

    @property
    def status(self) -> ProcessStatus:
        """The status of the process."""
        return self._state.status

    @property
    def goal(self) -> GoalSpec | None:
        """The goal that was reached, once the process is `COMPLETED`."""
        return self._state.goal

    @property
    def plan(self) -> Plan | None:
        """The plan that is followed; `None` once the process is stuck or has ended."""
        return self._state.plan

    @property
    def failure(self) -> str | None:
        """The reason why the process failed, is stuck, or was terminated."""
        return self._state.failure

    @property
    def began_at(self) -> float:
        """Time of creation, in seconds since the epoch."""
        return self._state.began_at

    @property
    def parent_id(self) -> str | None:
        """The id of the process that it runs inside, if any."""
        return self._context.parent_id

    @property
    def children(self) -> tuple[ChildRun, ...]:
        """The processes that have run inside, as they are now, oldest first."""
        ended = {child.id: child for run in self._state.history for child in run.children}
        running = {child.id: child.summarize() for child in list(self._inside.values())}
        return tuple({**ended, **running}.values())

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that were run, oldest first, failed ones included."""
        return tuple(self._state.history)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """The requests that the process waits for: none, once it has ended."""
        return self._state.pending

    @property
    def tally(self) -> UsageTally:
        """The usage of all model calls of the process."""
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
        value = self.blackboard.find_named(binding, object)
        return value if isinstance(value, kinds) else None

    def last(self, kind: type[T]) -> T | None:
        """Return the newest object of a type on the blackboard, or `None`."""
        return self.blackboard.last(kind)

    def times_run(self, action: str) -> int:
        """Return the number of times that the action has run in this process."""
        return self._state.count_runs(action)

    @abstractmethod
    def has_run(self, action: str) -> bool:
        """Return whether the action has run to its end in this process, since its state was entered."""

    def add_child(self, child: ProcessHandle) -> None:
        """Note a process that begins inside."""
        self._inside[child.id] = child

    def summarize(self) -> ChildRun:
        """Return the process as it is now, for the history of the process around it."""
        return ChildRun(self.id, self.name, self.status, self.failure, self.history)

    @abstractmethod
    async def observe(self) -> WorldState:
        """Evaluate every condition once."""

    @abstractmethod
    async def outlook(self) -> Plan | None:
        """Return the plan that the next `tick` follows, without following it, or `None`.

        Actions that wait are run before it.
        """

    @abstractmethod
    async def list_owed_rules(self) -> tuple[str, ...]:
        """Return the rules that ask for something before a goal counts, or are broken, as texts."""

    @abstractmethod
    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action inside the current action, in a context of its own; return how it ended, and its result.

        Raises:
            BudgetError: when the process has used up its budget.
            Suspended: when the action has to wait.
        """

    @abstractmethod
    def is_run_by(self, task: asyncio.Task[object] | None) -> bool:
        """Return whether the task runs the process, or a process inside it, for which it waits."""

    @abstractmethod
    def pause(self) -> None:
        """Stop the process once the action that runs has ended; `run` continues."""

    @abstractmethod
    async def kill(self, reason: str = "killed") -> None:
        """End the process for good, and interrupt what it does. A process that has ended stays as it is.

        Raises:
            RunConflictError: when it is kept in a store, and has continued elsewhere: `Platform.kill` ends it there.
        """
