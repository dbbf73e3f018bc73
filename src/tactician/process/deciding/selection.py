"""The actions that start next: actions of a new plan, or actions beside others that run or wait."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tactician.planning import Plan, PlanningBudget, WorldState
from tactician.process.acting.acting import Execution
from tactician.process.agent.operation import OperationContext
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.deciding.concurrency import Occupancy, select_startable
from tactician.process.deciding.decision import Decision, PlanningTask, decide
from tactician.process.deciding.deliberation import PlanningSettings
from tactician.process.deciding.observation import Observer
from tactician.process.state.events import ActionRefused, PlanMade, PlanningEnded, PlanningStarted
from tactician.process.state.state import ProcessStatus
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.text import describe_error

if TYPE_CHECKING:
    from tactician.process.deciding.forecasting import Forecast
    from tactician.process.deciding.ruling import Ruling


class Selection(NamedTuple):
    """Actions that start beside others, and the plan that they are part of, if it was made anew."""

    actions: tuple[ActionSpec, ...] = ()
    plan: Plan | None = None


class ActionSelector:
    """Selector of the actions of a process that start next.

    Attributes:
        decision: the last decision.
        improved: plan for what is to come, from planning while an action ran.
        refusal: why the process is not worth beginning: no plan is expected to keep its budget or deadline.
    """

    __slots__ = ("_execution", "_forecasted", "_priced", "_state", "decision", "improved", "refusal")

    def __init__(self, execution: Execution) -> None:
        self.decision: Decision | None = None
        self.improved: Plan | None = None
        self.refusal: str | None = None
        self._priced: PlannedAgentSpec | None = None
        self._forecasted: Forecast | None = None
        self._execution = execution
        self._state = execution.state

    async def observe(self) -> WorldState:
        """Evaluate every condition."""
        return await self._create_observer().observe()

    async def decide(self, *, is_acting: bool = False) -> Decision:
        """Choose the plan to follow from here.

        Args:
            is_acting: True while actions run.
        """
        await self._forecast()
        self.refusal = None
        decision = await self._decide(self.agent, is_acting=is_acting)
        if self._forecasted is not None and not is_acting:
            from tactician.process.deciding.forecasting import keep_limits

            decision, self.refusal = await keep_limits(self._execution, self._forecasted, decision, self._decide)
        self.decision = decision
        return decision

    async def _forecast(self) -> None:
        """Price the actions by what their earlier runs took, in a process with an objective or measured costs."""
        execution = self._execution
        if execution.agent is self._priced:
            return
        settings, review = execution.context.services.find(PlanningSettings), execution.options.plan_review
        has_limit = review is not None and review.above_dollars is not None
        if execution.options.objective or execution.agent.is_measured or settings.objective or has_limit:
            from tactician.process.deciding.forecasting import create_forecast

            self._forecasted = await create_forecast(execution)
            execution.agent = self._forecasted.price()
        self._priced = execution.agent

    async def _decide(self, agent: PlannedAgentSpec, *, is_acting: bool = False) -> Decision:
        # A plan that was improved while an action ran is newer than the plan that is followed.
        current_plan = self.improved or self._state.plan
        now = self._execution.context.clock.time()
        left = self._state.order.order if is_acting else ()
        task = PlanningTask(agent, self.planning, now, current_plan, self.decision, left)
        if not self._execution.context.is_observed:
            return await decide(task, self._state, self._create_observer())
        return await self._decide_aloud(task)

    async def _decide_aloud(self, task: PlanningTask) -> Decision:
        context = self._execution.context
        context.emit(PlanningStarted)
        now = context.clock.monotonic
        began = now()
        try:
            decision = await decide(task, self._state, self._create_observer())
        except BaseException as error:
            context.emit(PlanningEnded, plan=None, seconds=now() - began, error=describe_error(error))
            raise
        context.emit(PlanningEnded, plan=decision.plan, seconds=now() - began)
        return decision

    @property
    def agent(self) -> PlannedAgentSpec:
        """The agent of the process, as it is now."""
        return self._execution.agent

    @property
    def planning(self) -> PlanningBudget:
        """The limits of a decision, from the process, its agent or the platform."""
        execution = self._execution
        agent_planning = execution.options.planning or execution.agent.planning
        return agent_planning or execution.context.services.find(PlanningSettings).budget

    async def find_limit(self) -> str | None:
        """Return why the process has to end early, if it has to."""
        execution = self._execution
        policy = execution.options.terminate_when
        if (reason := execution.context.find_limit(acting=True)) is not None or policy is None:
            return reason
        selected = policy(execution.process)
        return (await selected if isinstance(selected, Awaitable) else selected) or None

    def follow(self, plan: Plan) -> None:
        """Follow the plan, and emit it when it is more than the rest of the last plan."""
        state, context = self._state, self._execution.context
        # After each action the planner returns the rest of the same plan: that is no news for listeners.
        is_new = state.order.follow(plan) or state.plan is None
        state.plan = plan
        if is_new and context.is_observed:
            context.emit(PlanMade, plan=plan)

    def select(self, plan: Plan, world: WorldState) -> tuple[ActionSpec, ...]:
        """Select the actions of a new plan that start now, while none runs; none where rules refuse them."""
        execution = self._execution
        if execution.options.max_parallel == 1:
            return self._keep_allowed((execution.agent.action(plan.actions[0].name),))
        return self._keep_allowed(select_startable(plan.actions, world, execution.agent, self._occupancy(())))

    def _keep_allowed(
        self, actions: tuple[ActionSpec, ...], running: Sequence[ActionSpec] = ()
    ) -> tuple[ActionSpec, ...]:
        """Return the actions that no rule refuses, and emit the refusals."""
        ruling = None if self.decision is None else self.decision.ruling
        if ruling is None:
            return actions
        allowed, refused = ruling.select(actions, running)
        if self._execution.context.is_observed and not running:
            for name, rules in refused.items():
                self._execution.context.emit(ActionRefused, action=name, rules=tuple(map(str, rules)))
        return allowed

    async def read_ruling(self) -> Ruling | None:
        """Return where the process stands with its rules; `None` without rules."""
        execution = self._execution
        if (book := execution.agent.rule_book) is None:
            return None
        from tactician.process.deciding.ruling import read_rules

        now = execution.context.clock.time()
        return await read_rules(book, execution.agent, self._state, self._create_observer(), now)

    async def check_rules(self, action: ActionSpec, running: Sequence[ActionSpec] = ()) -> None:
        """Check that an action which somebody else has chosen keeps the rules, beside those that run.

        Raises:
            RuleRefusedError: when it would break a rule.
        """
        execution = self._execution
        ruling = await self.read_ruling()
        if ruling is not None and (rules := ruling.find_refusals(action, running)):
            from tactician.process.deciding.ruling import create_refusal

            execution.context.emit(ActionRefused, action=action.name, rules=tuple(map(str, rules)))
            raise create_refusal(action.name, rules)

    async def select_beside(self, running: Sequence[ActionSpec] = ()) -> Selection:
        """Select the actions that start beside those that run or wait, and change nothing.

        These are actions that waited and have an answer, and actions of the plan. No action of the plan starts if the
        best plan from here is not the rest of the followed plan, or if no plan exists. So nothing is planned
        around a person who has not answered yet, and the next step plans once all others have ended.
        """
        agent, answered = self._execution.agent, self._find_answered(running)
        begun = (*running, *answered)
        # First the cheap test, in which no condition is evaluated: planning anew for nothing would cost a model call
        # in agents whose conditions ask a model.
        if not self._find_candidates(begun):
            return Selection(answered)
        try:
            # The world may have changed since the plan was made, so an action starts only if the best plan from here
            # agrees.
            plan, world, *_ = await self.decide(is_acting=bool(running))
            if plan is None or _names(plan) != self._state.order.order or await self.find_limit() is not None:
                return Selection(answered)
        # The next step of the process meets the same error, once the actions that run have ended: they must not be
        # cancelled for it.
        except Exception:
            return Selection(answered)
        startable = select_startable(plan.actions, world, agent, self._occupancy(begun))
        return Selection((*answered, *self._keep_allowed(startable, begun)), plan)

    def follow_selection(self, selection: Selection) -> tuple[ActionSpec, ...]:
        """Follow the plan of a selection, if any, and return its actions."""
        if selection.plan is not None:
            self.follow(selection.plan)
        return selection.actions

    def can_continue(self, running: Iterable[ActionSpec] = ()) -> bool:
        """Return whether some action could start, in some world, beside those that run or wait."""
        begun = tuple(running)
        return self.can_start_more and bool(self._find_answered(begun) or self._find_candidates(begun))

    @property
    def can_start_more(self) -> bool:
        """True unless something has happened for which all actions that run have to end first."""
        execution, state = self._execution, self._state
        if execution.reviewer is not None and execution.reviewer.action.name in state.waiting:
            return False
        is_paused = execution.is_to_pause or any(not waiting.pending for waiting in state.waiting.values())
        return state.status is ProcessStatus.RUNNING and state.declined is None and not is_paused

    def _find_answered(self, running: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
        """Find the actions that waited and have an answer, as many as there is room for."""
        # Answered actions take the free places first; actions of the plan get the rest.
        names, most = {action.name for action in running}, self._execution.options.max_parallel
        answered = [name for name in self._state.answered if name not in names]
        return self._execution.agent.find_actions(answered[: max(0, most - len(running))])

    def _find_candidates(self, begun: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
        """Find the actions of the plan that could start, in some world, beside those that have begun."""
        execution = self._execution
        if execution.options.max_parallel == 1 or not self.can_start_more:
            return ()
        rest = [action.plan for action in execution.agent.find_actions(self._state.order.order)]
        return select_startable(rest, None, execution.agent, self._occupancy(begun))

    def _occupancy(self, running: Sequence[ActionSpec]) -> Occupancy:
        execution = self._execution
        most, left, plan = execution.options.max_parallel, execution.meter.actions_left, self._state.plan
        keeps_order = plan is not None and plan.keeps_order
        return Occupancy(most, left, running, self._state.waiting, keeps_order)

    def _create_observer(self) -> Observer:
        return Observer(self._execution.agent, self._state.blackboard, self._create_operation)

    def _create_operation(self) -> OperationContext:
        """Create the context of conditions and costs, of which nothing is kept. Its keys tell the steps apart.

        They are the same when a step is repeated because its worker has died.
        """
        execution, state = self._execution, self._state
        step = f"decision {len(state.history)}.{state.blackboard.size}.{state.unstickings}"
        checkpoint = execution.context.checkpoint or Checkpoint(execution.agent.name)
        # Nothing that a condition does belongs to the checkpoint of an action.
        apart = replace(execution.context, checkpoint=checkpoint.apart(step))
        return OperationContext(execution.process, apart, f"{execution.process.id}/{step}")


def _names(plan: Plan) -> tuple[str, ...]:
    return tuple(action.name for action in plan.actions)
