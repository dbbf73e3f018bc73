"""One run of a planned agent: where it stands, what it knows, and how it is steered."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from time import perf_counter, time
from typing import TypeVar

from tactician.errors import ResponseError
from tactician.llm import Usage, UsageTally
from tactician.planning import Action, Plan, WorldState
from tactician.process.announcing import Announcer
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard
from tactician.process.context import begin_inside
from tactician.process.diagram import process_flowchart
from tactician.process.driving import Driver, Keeper
from tactician.process.history import ActionRun
from tactician.process.needs import need_tool_groups
from tactician.process.options import ProcessOptions
from tactician.process.snapshot import options_of, read, state_of, written
from tactician.process.spec import AgentSpec, GoalSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.surroundings import surroundings
from tactician.runs import BudgetMeter, PendingRequest, Response, RunContext

T = TypeVar("T")


class AgentProcess:
    """One run of an agent towards its goals.

    Attributes:
        agent: what is run.
        options: how it is run.
        plan: the plan that is being followed.
    """

    def __init__(
        self,
        agent: AgentSpec,
        blackboard: Blackboard,
        context: RunContext,
        options: ProcessOptions | None = None,
        keeper: Keeper | None = None,
        state: ProcessState | None = None,
    ) -> None:
        self.agent = agent
        self.options = options or ProcessOptions()
        self.plan: Plan | None = None
        self._state = ProcessState(blackboard) if state is None else state
        self._meter = BudgetMeter(self.options.budget, context.tally, context.clock, context.meter)
        self._context = surroundings(context, self.options, self._meter)
        self._announce = Announcer(self._context)
        self._driver = Driver(self, self._state, self._context, self._meter, self._announce, keeper)
        self._task: asyncio.Task[object] | None = None
        self._seconds = 0.0

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
    def failure(self) -> str | None:
        """Why the process failed, is stuck, or was terminated."""
        return self._state.failure

    @property
    def error(self) -> Exception | None:
        """What an action raised that ended the process."""
        return self._driver.error

    @property
    def parent_id(self) -> str | None:
        """The run that this process is part of, if any."""
        return self._context.parent_id

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that were run, oldest first, failed ones included."""
        return tuple(self._state.history)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """What the process waits for."""
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
        actions, declined = self.agent.plannable, self._state.declined
        return actions if declined is None else tuple(action for action in actions if action.name != declined.name)

    def last(self, wanted: type[T]) -> T | None:
        """The newest object of a type on the blackboard, or `None`."""
        return self.blackboard.last(wanted)

    def has_run(self, action: str) -> bool:
        """Whether the action has run to its end in this process, since its state was entered."""
        return self.blackboard.condition(self.agent.action(action).condition_ran)

    def times_run(self, action: str) -> int:
        """How often the action has run in this process."""
        return sum(1 for run in self._state.history if run.action == action)

    def to_mermaid(self) -> str:
        """A Mermaid flowchart of the agent, with what has run, what is there, what failed, and what is planned."""
        return process_flowchart(self)

    def __repr__(self) -> str:
        return f"AgentProcess({self.agent.name!r}, {self.id}, {self.status})"

    def snapshot(self) -> str:
        """All of the process, as JSON text.

        Raises:
            StoredStateError: when an object on the blackboard has no JSON form.
        """
        usage = list(self.tally.by_model.values())
        return written(self._state, self.agent, self.options, usage, self._meter)

    @classmethod
    def restored(
        cls,
        agent: AgentSpec,
        text: str,
        context: RunContext,
        options: ProcessOptions | None = None,
        keeper: Keeper | None = None,
        *,
        is_counted: bool = False,
    ) -> AgentProcess:
        """The process of a snapshot, in a context that has its id. An action that was running will be run again.

        Args:
            options: those that it was saved with, by default.
            is_counted: whether the run around it has counted already what it used.

        Raises:
            StoredStateError: when it cannot be read, or holds what the agent does not know.
        """
        saved = read(text)
        state = state_of(saved, agent)
        process = cls(agent, state.blackboard, context, options or options_of(saved), keeper, state)
        process._meter.restore(saved["turns"], saved["seconds"], saved["actions"])
        process._seconds = saved["seconds"]
        if not is_counted:
            for used in saved["usage"]:
                context.tally.add(used)
        return process

    async def run(self) -> AgentProcess:
        """Goes on until the goal is reached or nothing can be done; the status tells which.

        What an action raises ends the process as `FAILED`, and is kept in `error`; it is not raised here.

        Raises:
            ConfigurationError: when a tool group is missing that an action uses; then nothing was done.
        """
        self._state.answer_overdue(time())
        if not self.status.may_become(ProcessStatus.RUNNING) or self._state.has_to_wait:
            return self
        need_tool_groups(self.agent, self._context)
        self._state.status = ProcessStatus.RUNNING
        self._meter.restore(self._meter.turns, self._seconds, self._meter.actions)  # it may have rested meanwhile
        self._task = asyncio.current_task()
        self._state.declined = None
        started = perf_counter()
        begin_inside(self, self._context)
        self._announce.started(self.agent)
        try:
            await self._driver.run()
        except CancelledError:
            was_killed = self.status is ProcessStatus.KILLED
            self._state.end(ProcessStatus.KILLED, "the run was cancelled")
            if not was_killed or self._task is None:
                raise
            self._task.uncancel()
        finally:
            self._task = None
            self._seconds = self._meter.seconds
            self._announce.ended(self._state, perf_counter() - started)
        return self

    async def respond(self, request_id: str, response: Response) -> AgentProcess:
        """Answers one of the pending requests, and goes on.

        Raises:
            ResponseError: when there is no such request, or the answer does not fit; then the process still waits.
        """
        self.answer(request_id, response)
        await self.run()
        for request in self.pending:
            if request.id == request_id and request.problem is not None:
                raise ResponseError(f"{request_id}: this is no valid answer: {request.problem}")
        return self

    def answer(self, request_id: str, response: Response) -> None:
        """Answers one of the pending requests; `run` goes on then.

        Raises:
            ResponseError: when there is no such request.
        """
        known = [request.id for request in self.pending]
        if request_id not in known:
            raise ResponseError(f"{self.agent.name} does not wait for {request_id!r}; it waits for {known}")
        self._state.responses[request_id] = response

    async def kill(self, reason: str = "killed") -> None:
        """Ends the process for good, and interrupts what it does."""
        task = self._task
        self._state.end(ProcessStatus.KILLED, reason)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait([task])
        await self._driver.keep()

    def pause(self) -> None:
        """Has the process stop once the action that runs has ended; `run` goes on."""
        self._driver.pause()

    async def tick(self) -> None:
        """One step: observe the world, plan, run the first action of the plan, record it.

        Where the options allow it, further actions of the plan run at the same time.
        """
        await self._driver.tick()

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs, in a context inside it; how it ended, and what it gave.

        Raises:
            BudgetError: when the process has used up what it may use.
            Paused: when the action has to wait.
        """
        return await self._driver.act(name, context)

    async def observe(self) -> WorldState:
        """The value of every condition now, each evaluated once."""
        return await self._driver.observe()

    async def outlook(self) -> Plan | None:
        """The plan from here to the best goal, without following it; `None` when there is none."""
        return (await self._driver.decide()).plan
