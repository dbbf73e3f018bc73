"""The one process: observe, plan, act, record, and again."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from dataclasses import replace
from time import perf_counter, time
from typing import Protocol, TypeVar

from tactician.errors import BudgetError, LeaseLostError, ResponseError
from tactician.llm import Usage, UsageTally
from tactician.planning import Action, Plan, WorldState
from tactician.process.acting import Actor
from tactician.process.announcing import Announcer
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard
from tactician.process.concurrency import startable
from tactician.process.context import OperationContext
from tactician.process.deciding import Decision, decide, observe
from tactician.process.diagram import process_flowchart
from tactician.process.history import ActionRun
from tactician.process.options import ProcessOptions
from tactician.process.snapshot import options_of, read, state_of, written
from tactician.process.spec import AgentSpec, GoalSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.stuck import why_all_stuck
from tactician.runs import BudgetMeter, PendingRequest, Response, RunContext, RunResult, RunStatus

T = TypeVar("T")
_MOST_UNSTICKINGS = 10


class Keeper(Protocol):
    """Keeps a process, so that it can go on elsewhere."""

    async def keep(self, process: AgentProcess) -> None:
        """Keeps it as it is now.

        Raises:
            LeaseLostError: when somebody else has taken it over.
        """
        ...


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
        # Actions are planned anew, not run again in the same order: no frame of theirs would be found again.
        self._context = replace(context, meter=self._meter, frame=None)
        self._announce = Announcer(self._context)
        self._actor = Actor(self, self._state, self._context, self._announce)
        self._keeper = keeper
        self._task: asyncio.Task[object] | None = None
        self._is_to_pause = False
        self._seconds = 0.0
        self._keeping = asyncio.Lock()

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
        return self._actor.error

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
        return actions if declined is None else tuple(action for action in actions if action is not declined)

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
        return written(self._state, self.agent.name, self.options, usage, self._meter.turns, self._meter.seconds)

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
        process._meter.restore(saved["turns"], saved["seconds"])
        process._seconds = saved["seconds"]
        if not is_counted:
            for used in saved["usage"]:
                context.tally.add(used)
        return process

    async def run(self) -> AgentProcess:
        """Goes on until the goal is reached or nothing can be done; the status tells which.

        What an action raises ends the process as `FAILED`, and is kept in `error`; it is not raised here.
        """
        self._state.answer_overdue(time())
        if not self.status.may_become(ProcessStatus.RUNNING) or self._state.has_to_wait:
            return self
        self._state.status = ProcessStatus.RUNNING
        self._meter.restore(self._meter.turns, self._seconds)  # it may have rested meanwhile
        self._task = asyncio.current_task()
        self._state.declined = None
        started = perf_counter()
        self._announce.started(self.agent)
        try:
            await self._run()
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
        await self._keep()

    def pause(self) -> None:
        """Has the process stop once the action that runs has ended; `run` goes on."""
        self._is_to_pause = True

    async def tick(self) -> None:
        """One step: observe the world, plan, run the first action of the plan, record it.

        Where the options allow it, further actions of the plan run at the same time.
        """
        if self._state.waiting:
            await self._actor.act([self.agent.action(name) for name in self._state.waiting])
            return
        plan, world = await self._decision()
        if plan is None:
            await self._unstick()
        elif not plan.actions:
            self._state.goal = self.agent.goal(plan.goal.name)
            self._state.end(ProcessStatus.COMPLETED)
        elif (limit := self._limit()) is not None:
            self._state.end(ProcessStatus.TERMINATED, limit)
        else:
            self._follow(plan)
            await self._actor.act(startable(plan, world, self.agent, self.options.max_parallel))

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs, in a context inside it; how it ended, and what it gave.

        Raises:
            BudgetError: when the process has used up what it may use.
            Paused: when the action has to wait.
        """
        if (limit := self._limit()) is not None:
            raise BudgetError(limit, RunResult(None, RunStatus.FAILED, tally=self.tally, run_id=self.id))
        done = await self._actor.act_inside(self.agent.action(name), context)
        async with self._keeping:  # several may be run at once
            await self._keep()
        return done

    async def observe(self) -> WorldState:
        """The value of every condition now, each evaluated once."""
        return await observe(self, OperationContext(self, self._context))

    async def outlook(self) -> Plan | None:
        """The plan from here to the best goal, without following it; `None` when there is none."""
        return (await self._decision()).plan

    async def _decision(self) -> Decision:
        return await decide(self, OperationContext(self, self._context))

    async def _run(self) -> None:
        await self._keep()
        try:
            while self.status is ProcessStatus.RUNNING:
                await self.tick()
                if self._is_to_pause:
                    self._is_to_pause = False
                    self._state.end(ProcessStatus.PAUSED)
                await self._keep()
                if self.options.delay and self.status is ProcessStatus.RUNNING:
                    await self._context.clock.sleep(self.options.delay)
        except LeaseLostError:
            raise
        except Exception as error:  # a condition or a cost that raises, a search that is too large
            self._actor.error = error
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._state.end(ProcessStatus.FAILED, f"planning failed: {type(error).__name__}: {error}{place}")
            await self._keep()

    async def _keep(self) -> None:
        if self._keeper is not None:
            await self._keeper.keep(self)

    def _limit(self) -> str | None:
        """Why the process has to end early, if it has to."""
        policy = self.options.terminate_when
        return self._meter.exceeded(len(self._state.history)) or (policy(self) if policy is not None else None)

    async def _unstick(self) -> None:
        """Lets the agent add what is missing, if it can; else the process is stuck."""
        handler = self.agent.stuck_handler
        if handler is not None and self._state.unstickings < _MOST_UNSTICKINGS:
            self._state.unstickings += 1
            if await handler(self):
                return
        world = await self.observe()
        known = ", ".join(type(value).__name__ for value in self.blackboard.objects) or "nothing"
        self._state.end(ProcessStatus.STUCK, f"{why_all_stuck(self, world)} On the blackboard: {known}.")

    def _follow(self, plan: Plan) -> None:
        """Takes the plan over, and tells the listeners when it is more than the rest of the last one."""
        previous, self.plan = self.plan, plan
        self._announce.planned(previous, plan)
