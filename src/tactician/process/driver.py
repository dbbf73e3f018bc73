"""The steps of a process: observe, plan, act, record, and again."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Final

from tactician.errors import LeaseLostError, StoredStateError
from tactician.planning import Plan, WorldState
from tactician.process.acting import Actor, Execution
from tactician.process.decision import Decision, decide, explain_stuck, observe, select_startable
from tactician.process.events import PlanMade
from tactician.process.operation import OperationContext
from tactician.process.performing import to_failure
from tactician.process.state import ActionRun, ProcessStatus
from tactician.runs import (
    BudgetError,
    Checkpoint,
    DurableRun,
    RunContext,
    RunKilledError,
    RunResult,
    RunStatus,
    format_output,
    list_prompts,
)

_MOST_UNSTICKINGS: Final = 10
_PLANNING: Final = "planning failed:"


class Driver:
    """Driver of one process, step by step."""

    __slots__ = ("_activity", "_actor", "_execution", "_is_to_pause", "_run", "_saved_runs", "_state")

    def __init__(self, execution: Execution, run: DurableRun | None) -> None:
        self._execution = execution
        self._state = execution.state
        self._actor = Actor(execution)
        self._run = run
        self._saved_runs = len(execution.state.history)
        self._is_to_pause = False
        self._activity = _PLANNING

    @property
    def error(self) -> Exception | None:
        """Exception of an action, a condition or a cost that ended the process."""
        return self._actor.error

    @property
    def is_persisted(self) -> bool:
        """True when the process is saved, so that it can continue elsewhere."""
        return self._execution.context.is_saved

    @property
    def killed(self) -> str | None:
        """Why the process was killed in its store; `None` when it was not."""
        return None if self._run is None else self._run.killed

    def pause(self) -> None:
        """Stop the process after this step."""
        self._is_to_pause = True

    def hold_lease(self) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process, if the process is persisted."""
        return nullcontext() if self._run is None else self._run.hold()

    async def run(self) -> None:
        """Make one step after the other, as long as the process is running."""
        execution = self._execution
        while self._state.status is ProcessStatus.RUNNING:
            await self.step()
            if (delay := execution.options.delay) and self._state.status is ProcessStatus.RUNNING:
                await execution.context.clock.sleep(delay)

    async def run_step(self) -> None:
        """Make one step, and pause the process unless it ends or waits."""
        self.pause()
        await self.step()

    async def step(self) -> None:
        """Make one step, and save the process."""
        try:
            await self._tick()
            if self._is_to_pause:
                self._is_to_pause = False
                self._state.end(ProcessStatus.PAUSED)
            with self._doing("saving failed:"):
                await self.save()
        except (LeaseLostError, RunKilledError):
            raise
        except BaseException as error:  # a condition, a cost or a handler that raises, a search that is too large
            failure = self._actor.error = to_failure(error)
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._state.end(ProcessStatus.FAILED, f"{self._activity} {type(failure).__name__}: {failure}{place}")
            if isinstance(failure, StoredStateError):  # the store has the last state that could be saved
                await self.save_status()
            else:
                await self.save()

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action as a part of the one that runs: see `AgentProcess.act`."""
        execution = self._execution
        if (limit := await self._find_limit()) is not None:
            outer = execution.context
            raise BudgetError(limit, RunResult(None, RunStatus.FAILED, tally=outer.tally, run_id=outer.run_id))
        done = await self._actor.act_inside(execution.agent.action(name), context)
        await self.save()
        return done

    async def observe(self) -> WorldState:
        """Evaluate every condition."""
        return await observe(self._execution.agent, self._operation)

    async def decide(self) -> Decision:
        """Choose the plan that the next step follows."""
        return await decide(self._execution.agent, self._state, self._operation)

    async def begin(self) -> None:
        """Save that the process begins or continues, if it is persisted."""
        if self._run is not None and self.is_persisted:
            await self._run.begin()
            await self.save_status()

    async def save(self) -> None:
        """Save the process as it is now, if it is persisted: as a step, and a change of its status too."""
        if self.is_persisted:
            await self._save_step()
            await self.save_status()

    async def save_status(self) -> None:
        """Save the status of the process, if it is persisted and the store has another one."""
        state = self._state
        if self._run is not None and self.is_persisted and self._run.record.status is not state.status:
            await self._run.save_status(
                state.status, pending=state.pending, failure=state.failure, output=self._result_text
            )

    async def _save_step(self) -> None:
        """Save what has just happened as a step: actions that ended, questions to somebody, or the end."""
        state, context = self._state, self._execution.context
        new, self._saved_runs = state.history[self._saved_runs :], len(state.history)
        if pending := state.pending:
            names = ", ".join(state.waiting)
            if self._run is None:
                await context.save_step("suspended", names, list_prompts(pending))
            else:
                await self._run.save_all("suspended", names, list_prompts(pending), pending)
        elif new:
            results = (run.error or ", ".join(run.outputs) for run in new)
            await context.save_step("action", ", ".join(run.action for run in new), "; ".join(results))
        elif state.status is ProcessStatus.RUNNING:
            await context.save_step("unstick")
        else:
            await context.save_step(state.status.value, detail=state.failure or self._result_text)

    @property
    def _result_text(self) -> str:
        result = self._execution.process.result
        return "" if result is None else format_output(result)

    @property
    def _operation(self) -> OperationContext:
        """Context of conditions and costs. They are found out anew each time, so nothing of them is kept."""
        context = self._execution.context
        return OperationContext(
            self._execution.process, replace(context, checkpoint=Checkpoint(self._execution.agent.name))
        )

    async def _tick(self) -> None:
        execution, agent, state = self._execution, self._execution.agent, self._state
        if state.waiting:
            await self._actor.act([agent.action(name) for name in state.waiting])
            return
        plan, world, state.declined = await self.decide()
        if plan is None:
            await self._unstick()
        elif not plan.actions:
            state.goal = agent.goal(plan.goal.name)
            state.end(ProcessStatus.COMPLETED)
        elif (limit := await self._find_limit()) is not None:
            state.end(ProcessStatus.TERMINATED, limit)
        else:
            self._follow(plan)
            affordable = plan.actions[: execution.meter.actions_left]  # the others could not run one by one either
            await self._actor.act(select_startable(affordable, world, agent, execution.options.max_parallel))

    def _follow(self, plan: Plan) -> None:
        """Follow the plan, and emit it when it is more than the rest of the last one."""
        state, context = self._state, self._execution.context
        previous, state.plan = state.plan, plan
        state.order.follow(plan)
        if context.is_observed and (previous is None or _names(previous)[1:] != _names(plan)):
            context.emit(PlanMade, plan=plan)

    async def _find_limit(self) -> str | None:
        """Return why the process has to end early, if it has to."""
        execution = self._execution
        policy = execution.options.terminate_when
        if (reason := execution.context.find_limit(acting=True)) is not None or policy is None:
            return reason
        with self._doing("terminate_when raised"):
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


def _names(plan: Plan) -> list[str]:
    return [action.name for action in plan.actions]
