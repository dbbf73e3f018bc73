"""Drives a process: observe, plan, act, record, and again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tactician.errors import BudgetError, LeaseLostError
from tactician.planning import Plan, WorldState
from tactician.process.acting import Actor
from tactician.process.announcing import Announcer
from tactician.process.concurrency import startable
from tactician.process.context import OperationContext
from tactician.process.deciding import Decision, decide, observe
from tactician.process.history import ActionRun
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.stuck import why_all_stuck
from tactician.runs import BudgetMeter, RunContext, RunResult, RunStatus

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

_MOST_UNSTICKINGS = 10


class Keeper(Protocol):
    """Keeps a process, so that it can go on elsewhere."""

    async def keep(self, process: AgentProcess) -> None:
        """Keeps it as it is now.

        Raises:
            LeaseLostError: when somebody else has taken it over.
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
        "_is_to_pause",
        "_keeper",
        "_keeping",
        "_meter",
        "_process",
        "_state",
    )

    def __init__(
        self,
        process: AgentProcess,
        state: ProcessState,
        context: RunContext,
        meter: BudgetMeter,
        announce: Announcer,
        keeper: Keeper | None,
    ) -> None:
        self._process = process
        self._state = state
        self._context = context
        self._meter = meter
        self._announce = announce
        self._actor = Actor(process, state, context, announce)
        self._keeper = keeper
        self._keeping = asyncio.Lock()
        self._is_to_pause = False

    @property
    def error(self) -> Exception | None:
        """What an action, a condition or a cost raised that ended the process."""
        return self._actor.error

    def pause(self) -> None:
        """Has the process stop after this step."""
        self._is_to_pause = True

    async def run(self) -> None:
        """Step after step, as long as the process is running."""
        await self.keep()
        try:
            while self._state.status is ProcessStatus.RUNNING:
                await self.tick()
                if self._is_to_pause:
                    self._is_to_pause = False
                    self._state.end(ProcessStatus.PAUSED)
                await self.keep()
                if (delay := self._process.options.delay) and self._state.status is ProcessStatus.RUNNING:
                    await self._context.clock.sleep(delay)
        except LeaseLostError:
            raise
        except Exception as error:  # a condition or a cost that raises, a search that is too large
            self._actor.error = error
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._state.end(ProcessStatus.FAILED, f"planning failed: {type(error).__name__}: {error}{place}")
            await self.keep()

    async def tick(self) -> None:
        """One step: see `AgentProcess.tick`."""
        process, state = self._process, self._state
        if state.waiting:
            await self._actor.act([process.agent.action(name) for name in state.waiting])
            return
        plan, world = await self.decide()
        if plan is None:
            await self._unstick()
        elif not plan.actions:
            state.goal = process.agent.goal(plan.goal.name)
            state.end(ProcessStatus.COMPLETED)
        elif (limit := self._limit()) is not None:
            state.end(ProcessStatus.TERMINATED, limit)
        else:
            self._follow(plan)
            affordable = plan.actions[: self._meter.actions_left]  # the others do not run one after the other either
            await self._actor.act(startable(affordable, world, process.agent, process.options.max_parallel))

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs: see `AgentProcess.act`."""
        if (limit := self._limit()) is not None:
            used = RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)
            raise BudgetError(limit, used)
        done = await self._actor.act_inside(self._process.agent.action(name), context)
        async with self._keeping:  # several may be run at once
            await self.keep()
        return done

    async def observe(self) -> WorldState:
        """The value of every condition now."""
        return await observe(self._process, OperationContext(self._process, self._context))

    async def decide(self) -> Decision:
        """The best plan from here."""
        return await decide(self._process, OperationContext(self._process, self._context))

    async def keep(self) -> None:
        """Has the process kept as it is now."""
        if self._keeper is not None:
            await self._keeper.keep(self._process)

    def _limit(self) -> str | None:
        """Why the process has to end early, if it has to."""
        policy = self._process.options.terminate_when
        reason = self._meter.exceeded()
        return reason or (policy(self._process) if policy is not None else None)

    async def _unstick(self) -> None:
        """Lets the agent add what is missing, if it can; else the process is stuck."""
        process, state = self._process, self._state
        handler = process.agent.stuck_handler
        if handler is not None and state.unstickings < _MOST_UNSTICKINGS:
            state.unstickings += 1
            if await handler(process):
                return
        world = await self.observe()
        known = ", ".join(type(value).__name__ for value in state.blackboard.objects) or "nothing"
        state.end(ProcessStatus.STUCK, f"{why_all_stuck(process, world)} On the blackboard: {known}.")

    def _follow(self, plan: Plan) -> None:
        """Takes the plan over, and tells the listeners when it is more than the rest of the last one."""
        previous, self._process.plan = self._process.plan, plan
        self._state.turns.follow(plan)
        self._announce.planned(previous, plan)
