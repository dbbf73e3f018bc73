"""Drives a process: observe, plan, act, record, and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

from tactician.errors import LeaseLostError
from tactician.planning import Plan, WorldState
from tactician.process.acting import Actor
from tactician.process.announcing import Announcer
from tactician.process.concurrency import startable
from tactician.process.context import OperationContext
from tactician.process.deciding import Decision, decide, observe
from tactician.process.history import ActionRun
from tactician.process.performing import failure_in
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.stuck import why_all_stuck
from tactician.runs import BudgetError, BudgetMeter, RunContext, RunResult, RunStatus

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

_MOST_UNSTICKINGS = 10
_PLANNING: Final = "planning failed:"


class Persister(Protocol):
    """Saver of a process, so that it can continue elsewhere."""

    async def save(self, process: AgentProcess) -> None:
        """Save the process as it is now.

        Raises:
            LeaseLostError: when another worker has claimed the process.
        """
        ...

    def hold_lease(self, process: AgentProcess) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process.

        Raises:
            RunConflictError: when somebody else runs the process already.
            LeaseLostError: when another worker has claimed the process.
        """
        ...


class Driver:
    """Moves one process on, step by step.

    Attributes:
        error: what an action, a condition or a cost raised that ended the process.
    """

    __slots__ = (
        "_actor",
        "_announce",
        "_context",
        "_happening",
        "_is_to_pause",
        "_meter",
        "_persister",
        "_process",
        "_saving",
        "_state",
    )

    def __init__(
        self,
        process: AgentProcess,
        state: ProcessState,
        context: RunContext,
        meter: BudgetMeter,
        announce: Announcer,
        persister: Persister | None,
    ) -> None:
        self._process = process
        self._state = state
        self._context = context
        self._meter = meter
        self._announce = announce
        self._actor = Actor(process, state, context, meter, announce)
        self._persister = persister
        self._saving = asyncio.Lock()
        self._is_to_pause = False
        self._happening = _PLANNING

    @property
    def error(self) -> Exception | None:
        """What an action, a condition or a cost raised that ended the process."""
        return self._actor.error

    def pause(self) -> None:
        """Has the process stop after this step."""
        self._is_to_pause = True

    @property
    def is_kept(self) -> bool:
        """Whether the process is kept, so that it can go on elsewhere."""
        return self._persister is not None

    def hold_lease(self) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process, if the process is persisted."""
        return nullcontext() if self._persister is None else self._persister.hold_lease(self._process)

    async def run(self) -> None:
        """Step after step, as long as the process is running."""
        while self._state.status is ProcessStatus.RUNNING:
            await self.step()
            if (delay := self._process.options.delay) and self._state.status is ProcessStatus.RUNNING:
                await self._context.clock.sleep(delay)

    async def step(self) -> None:
        """One step, after which the process is kept."""
        try:
            await self._tick()
            if self._is_to_pause:
                self._is_to_pause = False
                self._state.end(ProcessStatus.PAUSED)
            with self._doing("saving failed:"):
                await self.keep()
        except LeaseLostError:
            raise
        except BaseException as error:  # a condition, a cost or a handler that raises, a search that is too large
            failure = self._actor.error = failure_in(error)
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._state.end(ProcessStatus.FAILED, f"{self._happening} {type(failure).__name__}: {failure}{place}")
            await self.keep()

    async def _tick(self) -> None:
        process, state = self._process, self._state
        if state.waiting:
            await self._actor.act([process.agent.action(name) for name in state.waiting])
            return
        plan, world, state.declined = await self.decide()
        if plan is None:
            await self._unstick()
        elif not plan.actions:
            state.goal = process.agent.goal(plan.goal.name)
            state.end(ProcessStatus.COMPLETED)
        elif (limit := await self._limit()) is not None:
            state.end(ProcessStatus.TERMINATED, limit)
        else:
            self._follow(plan)
            affordable = plan.actions[: self._meter.actions_left]  # the others do not run one after the other either
            await self._actor.act(startable(affordable, world, process.agent, process.options.max_parallel))

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs: see `AgentProcess.act`."""
        if (limit := await self._limit()) is not None:
            used = RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)
            raise BudgetError(limit, used)
        done = await self._actor.act_inside(self._process.agent.action(name), context)
        async with self._saving:  # several may be run at once
            await self.keep()
        return done

    async def observe(self) -> WorldState:
        """The value of every condition now."""
        return await observe(self._process.agent, OperationContext(self._process, self._context))

    async def decide(self) -> Decision:
        """The plan that the next step follows."""
        return await decide(self._process.agent, self._state, OperationContext(self._process, self._context))

    async def keep(self) -> None:
        """Has the process kept as it is now."""
        if self._persister is not None:
            await self._persister.save(self._process)

    async def _limit(self) -> str | None:
        """Why the process has to end early, if it has to."""
        policy = self._process.options.terminate_when
        if (reason := self._meter.exceeded(acting=True)) is not None or policy is None:
            return reason
        with self._doing("terminate_when raised"):
            said = policy(self._process)
            return (await said if isinstance(said, Awaitable) else said) or None

    @contextmanager
    def _doing(self, happening: str) -> Iterator[None]:
        """Says what a failure is one of, when something else than planning raises."""
        self._happening = happening
        yield
        self._happening = _PLANNING

    async def _unstick(self) -> None:
        """Lets the agent add what is missing, if it can; else the process is stuck, or fails for want of an answer."""
        process, state = self._process, self._state
        handler = process.agent.stuck_handler
        if handler is not None and state.unstickings < _MOST_UNSTICKINGS:
            state.unstickings += 1
            with self._doing("handle_stuck raised"):
                has_helped = await handler(process)
            if has_helped:
                return
        if self._actor.unanswered is not None:
            self._actor.fail(*self._actor.unanswered)
            return
        world = await self.observe()
        known = ", ".join(type(value).__name__ for value in state.blackboard.objects) or "nothing"
        state.end(ProcessStatus.STUCK, f"{why_all_stuck(process, world)} On the blackboard: {known}.")

    def _follow(self, plan: Plan) -> None:
        """Takes the plan over, and tells the listeners when it is more than the rest of the last one."""
        self._state.order.follow(plan)
        previous, self._state.plan = self._state.plan, plan
        self._announce.planned(previous, plan)
