"""The steps of a process: observe, plan, act, record, and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from itertools import count
from typing import Final, NamedTuple, Protocol

from tactician.errors import LeaseLostError
from tactician.flow import FlowStep, Scheduler, StepCompleted
from tactician.planning import Plan, WorldState
from tactician.process.acting import Actor, Execution
from tactician.process.concurrency import Occupancy, RunningActions, select_startable
from tactician.process.decision import Decision, decide, explain_stuck, observe, observe_for
from tactician.process.events import PlanMade
from tactician.process.handle import ProcessHandle
from tactician.process.operation import OperationContext
from tactician.process.performing import Outcome, to_failure
from tactician.process.spec import ActionSpec
from tactician.process.state import ActionRun, ProcessStatus
from tactician.runs import BudgetError, RunContext, RunResult, RunStatus

_MOST_UNSTICKINGS: Final = 10
_PLANNING: Final = "planning failed:"


class Persister(Protocol):
    """Saver of a process, so that it can continue elsewhere."""

    async def save(self, process: ProcessHandle) -> None:
        """Save the process as it is now.

        Raises:
            LeaseLostError: when another worker has claimed the process.
        """
        ...

    def hold_lease(self, process: ProcessHandle) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process.

        Raises:
            RunConflictError: when somebody else runs the process already.
            LeaseLostError: when another worker has claimed the process.
        """
        ...


class Driver:
    """Driver of one process, step by step."""

    __slots__ = ("_activity", "_actor", "_execution", "_is_to_pause", "_persister", "_saving", "_state")

    def __init__(self, execution: Execution, persister: Persister | None) -> None:
        self._execution = execution
        self._state = execution.state
        self._actor = Actor(execution)
        self._persister = persister
        self._saving = asyncio.Lock()
        self._is_to_pause = False
        self._activity = _PLANNING

    @property
    def error(self) -> Exception | None:
        """Exception of an action, a condition or a cost that ended the process."""
        return self._actor.error

    @property
    def is_persisted(self) -> bool:
        """True when the process is saved, so that it can continue elsewhere."""
        return self._persister is not None

    def pause(self) -> None:
        """Stop the process after this step."""
        self._is_to_pause = True

    def hold_lease(self) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process, if the process is persisted."""
        return nullcontext() if self._persister is None else self._persister.hold_lease(self._execution.process)

    async def run(self) -> None:
        """Make one step after the other, as long as the process is running.

        Actions of the plan also start beside those that run, unless there is to be some time between actions.
        """
        execution = self._execution
        delay = execution.options.delay
        while self._state.status is ProcessStatus.RUNNING:
            await self.step(keeps_starting=not delay)
            if delay and self._state.status is ProcessStatus.RUNNING:
                await execution.context.clock.sleep(delay)

    async def step(self, *, keeps_starting: bool = False) -> None:
        """Make one step: run the actions that can start now, and save the process as each ends.

        Args:
            keeps_starting: True to start further actions of the plan whenever one ends and others still run.
        """
        try:
            if actions := await self._choose():
                await self._act(actions, keeps_starting=keeps_starting)
            else:
                self._rest()
                await self._save_step()
        except LeaseLostError:
            raise
        except BaseException as error:  # a condition, a cost or a handler that raises, a search that is too large
            failure = self._actor.error = to_failure(error)
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._state.end(ProcessStatus.FAILED, f"{self._activity} {type(failure).__name__}: {failure}{place}")
            await self.save()

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action as a part of the one that runs: see `AgentProcess.act`."""
        execution = self._execution
        if (limit := await self._find_limit()) is not None:
            outer = execution.context
            raise BudgetError(limit, RunResult(None, RunStatus.FAILED, tally=outer.tally, run_id=outer.run_id))
        done = await self._actor.act_inside(execution.agent.action(name), context)
        async with self._saving:
            await self.save()
        return done

    async def observe(self) -> WorldState:
        """Evaluate every condition."""
        return await observe(self._execution.agent, self._operation)

    async def decide(self) -> Decision:
        """Choose the plan that the next step follows."""
        return await decide(self._execution.agent, self._state, self._operation)

    async def save(self) -> None:
        """Save the process as it is now, if it is persisted."""
        if self._persister is not None:
            await self._persister.save(self._execution.process)

    @property
    def _operation(self) -> OperationContext:
        return OperationContext(self._execution.process, self._execution.context)

    async def _choose(self) -> tuple[ActionSpec, ...]:
        """Choose the actions that start now, while none runs. Without any, the process has ended or waits."""
        state, agent = self._state, self._execution.agent
        if state.waiting:
            if not (actions := await self._choose_while_waiting(())):
                self._actor.suspend()
            return actions
        plan, world, state.declined = await self.decide()
        if plan is None:
            await self._unstick()
            return ()
        if not plan.actions:
            state.goal = agent.goal(plan.goal.name)
            state.end(ProcessStatus.COMPLETED)
            return ()
        with self._doing("terminate_when raised"):
            limit = await self._find_limit()
        if limit is not None:
            state.end(ProcessStatus.TERMINATED, limit)
            return ()
        self._follow(plan)
        return select_startable(plan.actions, world, agent, self._occupancy(()))

    async def _choose_while_waiting(self, running: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
        """Choose the actions that go on while others wait: those with an answer, and what depends on none of the rest.

        Only of the plan: planned anew, a dearer way without the answers would be found.
        """
        agent, names = self._execution.agent, {action.name for action in running}
        answered = agent.find_actions(name for name in self._state.answered if name not in names)
        occupancy = self._occupancy((*running, *answered))
        candidates = self._find_independent(occupancy)
        if not candidates or await self._find_limit() is not None:
            return answered
        world = await observe_for(candidates, agent, self._operation)
        rest = [action.plan for action in agent.find_actions(self._state.order.order)]
        return (*answered, *select_startable(rest, world, agent, occupancy))

    def _find_independent(self, occupancy: Occupancy) -> tuple[ActionSpec, ...]:
        """Find the actions of the plan that could start in some world, while others wait."""
        agent = self._execution.agent
        if occupancy.most == 1 or not self._can_start_more:
            return ()
        rest = [action.plan for action in agent.find_actions(self._state.order.order)]
        return select_startable(rest, None, agent, occupancy)

    async def _choose_beside(self, running: Sequence[ActionSpec]) -> _Choice:
        """Choose the actions that start beside those that run, and change nothing.

        None does where the best plan from here is no longer theirs, or cannot be found: the next step plans once these
        have ended.
        """
        agent, occupancy = self._execution.agent, self._occupancy(running)
        if self._state.waiting:
            return _Choice(await self._choose_while_waiting(running))
        try:
            plan, world, _ = await self.decide()
            if plan is None or not {action.name for action in running} <= set(_names(plan)):
                return _Choice()
            actions = select_startable(plan.actions, world, agent, occupancy)
            return _Choice() if not actions or await self._find_limit() is not None else _Choice(actions, plan)
        except Exception:
            return _Choice()

    @property
    def _can_start_more(self) -> bool:
        """True when nothing has happened that the running actions have to end for."""
        state = self._state
        is_paused = self._is_to_pause or any(not waiting.pending for waiting in state.waiting.values())
        return state.status is ProcessStatus.RUNNING and state.declined is None and not is_paused

    def _occupancy(self, running: Sequence[ActionSpec]) -> Occupancy:
        execution = self._execution
        most, left = execution.options.max_parallel, execution.meter.actions_left
        return Occupancy(most, left, running, self._state.waiting)

    async def _act(self, actions: Sequence[ActionSpec], *, keeps_starting: bool) -> None:
        """Run actions, a single one in this task."""
        self._state.declined = None
        with RunningActions(self._execution.meter) as running:
            for action in actions:
                running.add(action)
            if len(actions) == 1:
                await self._end_action(await self._actor.perform(actions[0]), running)
            else:
                await self._act_at_once(running, keeps_starting=keeps_starting)

    async def _act_at_once(self, running: RunningActions, *, keeps_starting: bool) -> None:
        """Run actions in tasks of their own. With `keeps_starting`, plan whenever one ends and others still run.

        Planning is a step of its own, so that an end is recorded at once; a choice that was overtaken by an end is
        made again.
        """
        numbers, is_planning, is_current = count(1), False, False
        async with Scheduler[Outcome | _Choice]() as scheduler:
            scheduler.add(*(self._to_step(action, next(numbers)) for action in running))
            async for ended in scheduler:
                match ended:
                    case StepCompleted(result=Outcome() as outcome):
                        await self._end_action(outcome, running)
                        is_current = False
                    case StepCompleted(result=_Choice() as choice):
                        is_planning = False
                        for action in self._accept(choice, running) if is_current else ():
                            scheduler.add(self._to_step(action, next(numbers)))
                if not running:
                    break
                if keeps_starting and not is_planning and not is_current and self._has_room(running):
                    is_planning = is_current = True
                    scheduler.add(FlowStep(f"plan {next(numbers)}", self._to_planning(running)))

    def _has_room(self, running: RunningActions) -> bool:
        """Return whether another action could start beside those that run."""
        execution = self._execution
        has_room = len(running) < execution.options.max_parallel and not execution.agent.prices
        return has_room and self._can_start_more

    def _to_step(self, action: ActionSpec, number: int) -> FlowStep[Outcome | _Choice]:
        return FlowStep(f"{action.name} {number}", lambda _: self._actor.perform(action))

    def _to_planning(self, running: RunningActions) -> Callable[[object], Awaitable[_Choice]]:
        return lambda _: self._choose_beside(tuple(running))

    def _accept(self, choice: _Choice, running: RunningActions) -> tuple[ActionSpec, ...]:
        """Follow the plan of a choice, and note that its actions begin."""
        if not self._can_start_more:
            return ()
        if choice.plan is not None:
            self._follow(choice.plan)
        for action in choice.actions:
            running.add(action)
        return choice.actions

    async def _end_action(self, outcome: Outcome, running: RunningActions) -> None:
        """Record how an action ended, and save the process. No action ends anywhere else, but those inside another."""
        self._actor.record(outcome)
        running.remove(outcome.action)
        if not running:
            self._rest()
        await self._save_step()

    def _rest(self) -> None:
        """Let the process wait or pause when it has to. Nothing runs."""
        state = self._state
        if (
            state.waiting
            and not (state.answered and self._can_start_more)
            and not self._find_independent(self._occupancy(()))
        ):
            self._actor.suspend()
        if self._is_to_pause:
            self._is_to_pause = False
            state.end(ProcessStatus.PAUSED)

    async def _save_step(self) -> None:
        with self._doing("saving failed:"):
            async with self._saving:  # an action inside another may end at the same time
                await self.save()

    def _follow(self, plan: Plan) -> None:
        """Follow the plan, and emit it when it is more than the rest of the last one."""
        state, context = self._state, self._execution.context
        is_new = state.plan is None or state.order.order != _names(plan)
        state.plan = plan
        state.order.follow(plan)
        if is_new and context.is_observed:
            context.emit(PlanMade, plan=plan)

    async def _find_limit(self) -> str | None:
        """Return why the process has to end early, if it has to."""
        execution = self._execution
        policy = execution.options.terminate_when
        if (reason := execution.context.find_limit(acting=True)) is not None or policy is None:
            return reason
        said = policy(execution.process)
        return (await said if isinstance(said, Awaitable) else said) or None

    @contextmanager
    def _doing(self, activity: str) -> Iterator[None]:
        """Name what is done inside the `with` block, for the message when something else than planning raises."""
        self._activity = activity
        yield
        self._activity = _PLANNING

    async def _unstick(self) -> None:
        """Let the agent add what is missing, if it can; else the process is stuck, or fails for want of an answer."""
        execution, state = self._execution, self._state
        handler = execution.agent.stuck_handler
        if handler is not None and state.unstickings < _MOST_UNSTICKINGS:
            state.unstickings += 1
            with self._doing("handle_stuck raised"):
                has_helped = await handler(execution.process)
            if has_helped:
                return
        if self._actor.unanswered is not None:
            self._actor.fail(*self._actor.unanswered)
            return
        why = explain_stuck(execution.agent, state, await self.observe())
        known = ", ".join(type(value).__name__ for value in state.blackboard.objects) or "nothing"
        state.end(ProcessStatus.STUCK, f"{why} On the blackboard: {known}.")


class _Choice(NamedTuple):
    """Actions that start beside others, and the plan that they are part of, if it was made anew."""

    actions: tuple[ActionSpec, ...] = ()
    plan: Plan | None = None


def _names(plan: Plan) -> list[str]:
    return [action.name for action in plan.actions]
