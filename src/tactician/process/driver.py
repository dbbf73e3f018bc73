"""The steps of a process: observe, plan, act, record, and again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

from tactician.errors import LeaseLostError, StoredStateError
from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import FlowStep, StepCompleted
from tactician.llm import AssistantMessage, Text
from tactician.planning import WorldState
from tactician.process.acting.acting import Actor, Execution
from tactician.process.acting.performing import Outcome, to_failure
from tactician.process.agent.spec import ActionSpec
from tactician.process.deciding.concurrency import RunningActions
from tactician.process.deciding.decision import Decision
from tactician.process.deciding.improving import PlanImprover
from tactician.process.deciding.selection import ActionSelector, Selection
from tactician.process.saving.saving import ProcessSaver
from tactician.process.state.conversation import MOST_ACTIONS
from tactician.process.state.errors import describe_failure
from tactician.process.state.events import ProgressReported
from tactician.process.state.state import REVIEW, ActionRun, ProcessStatus
from tactician.runs import BudgetError, RunContext, RunKilledError, RunResult, RunStatus
from tactician.runs.life.durable import DurableRun
from tactician.tools.tool import describe_result

_MOST_UNSTICKINGS: Final = 10
_PLANNING: Final = "planning failed:"
_SAVING: Final = "saving failed:"


class Driver:
    """Driver of a process, step by step."""

    __slots__ = ("_activity", "_actor", "_execution", "_improver", "_inside", "_selector", "_state", "saver")

    def __init__(self, execution: Execution, run: DurableRun | None) -> None:
        self._execution = execution
        self._state = execution.state
        self._actor = Actor(execution)
        self.saver = ProcessSaver(execution, run)
        self._selector = ActionSelector(execution)
        self._improver = PlanImprover(self._selector)
        self._activity = _PLANNING
        self._inside: list[ActionSpec] = []

    @property
    def error(self) -> Exception | None:
        """Exception of an action, a condition or a cost that ended the process."""
        return self._actor.error

    def pause(self) -> None:
        """Stop the process after this step."""
        self._execution.is_to_pause = True

    async def run(self) -> None:
        """Make steps as long as the process is running.

        Actions of the plan also start beside those that run, unless there is to be some time between actions.
        """
        execution = self._execution
        self._actor.error = None
        delay = execution.options.delay
        while self._state.status is ProcessStatus.RUNNING:
            await self.step(keeps_starting=not delay)
            if delay and self._state.status is ProcessStatus.RUNNING:
                await execution.context.clock.sleep(delay)

    async def run_step(self) -> None:
        """Make a step, and pause the process unless it ends or waits."""
        self.pause()
        await self.step()

    async def step(self, *, keeps_starting: bool = False) -> None:
        """Make a step: run the actions that can start now, and save the process as each ends.

        Args:
            keeps_starting: True to start further actions of the plan whenever an action ends and others still run.
        """
        self._activity = _PLANNING
        try:
            if actions := await self._choose():
                await self._act(actions, keeps_starting=keeps_starting)
            else:
                self._rest()
                await self._save()
        except (LeaseLostError, RunKilledError):
            raise
        except BaseException as error:  # a condition, a cost or a handler that raises, a search that is too large
            failure = self._actor.error = to_failure(error)
            is_in_conversation = self._execution.conversation is not None
            status = ProcessStatus.RESTING if is_in_conversation else ProcessStatus.FAILED
            self._state.end(status, f"{self._activity} {describe_failure(failure)}")
            if isinstance(failure, StoredStateError):  # the store has the last state that could be saved
                await self.saver.save_status()
            else:
                await self.saver.save()

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action inside the current action: see `AgentProcess.act`."""
        execution = self._execution
        if (limit := await self._selector.find_limit()) is not None:
            outer = execution.context
            raise BudgetError(limit, RunResult(None, RunStatus.FAILED, tally=outer.tally, run_id=outer.run_id))
        action = execution.agent.action(name)
        await self._selector.check_rules(action, tuple(self._inside))
        self._inside.append(action)  # at once: another call would not see it
        try:
            done = await self._actor.act_inside(action, context)
        finally:
            self._inside.remove(action)
        await self.saver.save()
        return done

    async def list_owed_rules(self) -> tuple[str, ...]:
        """Return the rules that ask for something before a goal counts, or are broken."""
        ruling = await self._selector.read_ruling()
        return (
            () if ruling is None else tuple(dict.fromkeys(map(str, (*ruling.progress.broken, *ruling.progress.open))))
        )

    async def observe(self) -> WorldState:
        """Evaluate every condition."""
        return await self._selector.observe()

    async def decide(self) -> Decision:
        """Choose the plan that the next step follows."""
        return await self._selector.decide()

    async def _choose(self) -> tuple[ActionSpec, ...]:
        """Choose the actions that start now, while none runs. Without any, the process has ended or waits."""
        state, selector = self._state, self._selector
        if (missed := self._find_missed_deadline()) is not None:
            state.end(ProcessStatus.TERMINATED, missed)
            return ()
        if state.waiting:
            actions = selector.follow_selection(await selector.select_beside())
            if not actions:
                self._actor.suspend()
            return actions
        plan, world, _, state.declined, _ = await self.decide()
        if plan is None:
            await self._unstick()
            return ()
        if (
            (conversation := self._execution.conversation) is not None
            and conversation.has_reached_limit
            and plan.actions
        ):
            state.end(ProcessStatus.RESTING, f"a message may cause {MOST_ACTIONS} actions, and more would have run")
            return ()
        if not plan.actions:
            state.goal = self._execution.agent.goal(plan.goal.name)
            state.end(ProcessStatus.COMPLETED)
            self._say_result()
            return ()
        self._activity = "terminate_when raised"
        if (limit := await selector.find_limit()) is not None:
            state.end(ProcessStatus.TERMINATED, limit)
            return ()
        self._activity = _PLANNING
        if selector.refusal is not None:
            state.end(ProcessStatus.TERMINATED, selector.refusal)
            return ()
        selector.follow(plan)
        reviewer = self._execution.reviewer
        if reviewer is not None and (reviewer.review(plan) or state.status is not ProcessStatus.RUNNING):
            return (reviewer.action,) if state.status is ProcessStatus.RUNNING else ()
        if not (actions := selector.select(plan, world)):  # a planner that does not know the rules
            state.declined, state.replans = plan.actions[0], state.replans + 1
            return await self._choose()
        return actions

    def _say_result(self) -> None:
        """Say the result of the process in its conversation, if it has sent nothing else."""
        execution, result = self._execution, self._execution.process.result
        if (conversation := execution.conversation) is not None and not conversation.sent and result is not None:
            conversation.say(AssistantMessage((Text(describe_result(result)),)))

    def _find_missed_deadline(self) -> str | None:
        """Return why a process that has not begun, or waits, ends. What has acted may have reached its goal already."""
        state = self._state
        may_have_completed = bool(state.history) and not state.waiting
        return None if may_have_completed else self._execution.context.find_missed_deadline()

    async def _act(self, actions: Sequence[ActionSpec], *, keeps_starting: bool) -> None:
        """Run actions; a single action runs in this task."""
        if actions[0].name != REVIEW:  # a review is about the plan without the action that was declined
            self._state.declined = None
        with RunningActions(self._execution.meter) as running:
            running.add(*actions)
            if len(actions) == 1:
                work = self._actor.perform(actions[0])
                await self._end_action(await self._improver.improve_beside(actions[0], work), running)
            else:
                await self._act_at_once(running, keeps_starting=keeps_starting)

    async def _act_at_once(self, running: RunningActions, *, keeps_starting: bool) -> None:
        """Run actions in tasks of their own.

        With `keeps_starting`, select further actions whenever an action ends and others still run.

        Selecting is a step of the flow, so that an action that ends meanwhile is recorded at once. Then what was
        selected is out of date.
        """
        numbers, is_selecting, is_current = count(), False, False
        async with Scheduler[Outcome | Selection]() as scheduler:
            scheduler.add(*map(self._to_step, running, numbers))
            async for ended in scheduler:
                match ended:
                    case StepCompleted(result=Outcome() as outcome):
                        await self._end_action(outcome, running)
                        is_current = False
                    case StepCompleted(result=Selection() as selection):
                        is_selecting = False
                        if is_current:
                            scheduler.add(*map(self._to_step, self._accept(selection, running), numbers))
                if not running:
                    break
                if keeps_starting and not is_selecting and not is_current and self._selector.can_continue(running):
                    is_selecting = is_current = True
                    scheduler.add(self._to_selecting(running, next(numbers)))

    def _to_step(self, action: ActionSpec, number: int) -> FlowStep[Outcome | Selection]:
        return FlowStep(f"{action.name} {number}", lambda _: self._actor.perform(action))

    def _to_selecting(self, running: RunningActions, number: int) -> FlowStep[Outcome | Selection]:
        begun = tuple(running)
        return FlowStep(f"select {number}", lambda _: self._selector.select_beside(begun))

    def _accept(self, selection: Selection, running: RunningActions) -> tuple[ActionSpec, ...]:
        """Let selected actions begin, if nothing speaks against that any more."""
        if not self._selector.can_start_more:
            return ()
        running.add(*selection.actions)
        return self._selector.follow_selection(selection)

    async def _end_action(self, outcome: Outcome, running: RunningActions) -> None:
        """Record how an action ended, and save the process. Only actions inside other actions end elsewhere."""
        self._actor.record(outcome)
        running.remove(outcome.action)
        if running:
            self._activity = _SAVING
            await self.saver.save_step()
            await self.saver.show_pending()
            self._activity = _PLANNING
            return
        self._rest()
        await self._save()

    def _rest(self) -> None:
        """Let the process wait or pause if it has to. No action runs."""
        execution, state, selector = self._execution, self._state, self._selector
        if state.waiting and not selector.can_continue():
            self._actor.suspend()
        if execution.is_to_pause:
            execution.is_to_pause = False
            state.end(ProcessStatus.PAUSED)

    async def _save(self) -> None:
        self._activity = _SAVING
        await self.saver.save()

    async def _ask_stuck_handler(self) -> bool:
        """Let the agent add what is missing, and return whether to plan again."""
        execution, state = self._execution, self._state
        handler = execution.agent.stuck_handler
        if handler is None or state.unstickings >= _MOST_UNSTICKINGS:
            return False
        state.unstickings += 1
        self._activity = "handle_stuck raised"
        resolution = await handler(execution.process)
        self._activity = _PLANNING
        if isinstance(resolution, str):
            execution.context.emit(ProgressReported, text=resolution)
        return bool(resolution)

    async def _unstick(self) -> None:
        """Let the agent add what is missing, if it can; else the process is stuck, or fails for want of an answer."""
        execution, state = self._execution, self._state
        size = state.blackboard.size
        if await self._ask_stuck_handler():
            return
        if state.unanswered is not None:
            name, error = state.unanswered
            self._actor.fail(execution.agent.action(name), error)
            return
        if (conversation := execution.conversation) is not None and conversation.has_reacted:
            state.end(ProcessStatus.RESTING)
            return
        from tactician.process.deciding.stuck import explain_stuck

        why = explain_stuck(execution.agent, state, await self.observe())
        if state.blackboard.size > size:
            why = "handle_stuck has added an object, but has not returned True, so nothing was planned again."
        type_names = ", ".join(type(value).__name__ for value in state.blackboard.objects) or "nothing"
        status = ProcessStatus.STUCK if conversation is None else ProcessStatus.RESTING
        state.end(status, f"{why} On the blackboard: {type_names}.")
