"""What the actions of a process are expected to take, and plans that follow from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import replace
from random import Random
from typing import Final

from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.planning import Action, Objective, Plan, RunEstimate, WorldState
from tactician.planning.forecast.fastest import find_fastest
from tactician.planning.forecast.objectives import MEASURED_OBJECTIVE
from tactician.process.acting.acting import Execution
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.deciding.decision import Decision
from tactician.process.deciding.deliberation import PlanningSettings
from tactician.process.deciding.experience import ExperienceTable
from tactician.runs import Budget

_MARGIN: Final = 1e-9
_COMPROMISES: Final = (0.1, 1.0, 10.0, 100.0, 1000.0)


@frozen
class Forecast:
    """Expected costs and times of the actions of an agent, and the objective of its plans.

    Attributes:
        objective: the weights of costs, seconds and dollars.
        max_parallel: number of actions that may run at once.
        original: the agent with the declared costs.
        estimates: the estimates by the names of the actions.
        keeps_declared: True when only measured costs follow from the objective, and the others are as declared.
    """

    objective: Objective
    max_parallel: int
    original: PlannedAgentSpec
    estimates: dict[str, RunEstimate]
    keeps_declared: bool = False

    def price(self, objective: Objective | None = None) -> PlannedAgentSpec:
        """Return the agent with the costs that follow from the estimates and an objective, its own by default."""
        if objective is not None:
            return replace(self, objective=objective, keeps_declared=False).price()
        actions = tuple(replace(spec, plan=self._price(spec)) for spec in self.original.actions)
        return replace(self.original, actions=actions, choose=self.choose, refresher=self._refresh)

    def _price(self, spec: ActionSpec) -> Action:
        estimate = self.estimates[spec.name]
        if self.keeps_declared and not spec.is_measured:
            return replace(spec.plan, estimate=estimate)
        return self.objective.price(spec.plan, estimate)

    def _refresh(self, priced: PlannedAgentSpec) -> PlannedAgentSpec:
        """Return the agent without a forecast where it has changed: it is measured again."""
        fresh = self.original.refresh()
        return priced if fresh is self.original else fresh

    def choose(
        self, plan: Plan, world: WorldState, actions: tuple[Action, ...], last: Plan | None, left: Collection[str]
    ) -> Plan:
        """Return the plan of the least weighted cost and makespan; while actions run, the rest of the last plan."""
        rest = None if last is None else _find_rest(last, left, world)
        return rest or find_fastest(plan, world, actions, self.objective, self.max_parallel)


def _find_rest(known: Plan, left: Collection[str], world: WorldState) -> Plan | None:
    """Return what is left of a plan, if it still works."""
    steps = [step for step in zip(known.actions, known.costs, strict=True) if step[0].name in left]
    for action, _ in steps:
        if not action.is_runnable_in(world):
            return None
        world = world.apply(action)
    if not steps or not known.goal.is_reached_in(world):
        return None
    actions, costs = zip(*steps, strict=True)
    return replace(known, actions=actions, costs=costs)


async def create_forecast(execution: Execution) -> Forecast:
    """Return what the actions of a process are expected to take, by its earlier runs.

    What had ended when the process began counts, so that the process is the same when it continues elsewhere.
    """
    agent, options = execution.agent, execution.options
    settings, now = execution.context.services.find(PlanningSettings), execution.state.began_at
    table = ExperienceTable((), now) if settings.read_experience is None else await settings.read_experience(now)
    seed = settings.explore if options.explore is None else options.explore
    objective = options.objective or agent.objective or settings.objective
    return build_forecast(agent, table, objective, max_parallel=options.max_parallel, seed=seed)


def build_forecast(
    agent: PlannedAgentSpec,
    table: ExperienceTable,
    objective: Objective | None,
    *,
    max_parallel: int = 1,
    seed: int | None = None,
) -> Forecast:
    """Return what the actions of an agent are expected to take, by the experience with them."""
    estimates = {spec.name: _estimate(spec, agent, table, seed) for spec in agent.actions}
    return Forecast(objective or MEASURED_OBJECTIVE, max_parallel, agent, estimates, keeps_declared=objective is None)


def _estimate(spec: ActionSpec, agent: PlannedAgentSpec, table: ExperienceTable, seed: int | None) -> RunEstimate:
    """Return the estimate of an action; with a seed it is drawn at random."""
    experience = table.find(spec.name, agent.name)
    # The number of runs makes each draw another, where a clock stands still.
    draw = None if seed is None else Random(f"{seed} {table.now} {table.size} {spec.name}")
    estimate = experience.estimate if draw is None else experience.sample(draw)
    return replace(estimate, runs_alone=spec.is_serial or not spec.is_sure or bool(agent.prices))


@frozen
class ProcessLimits:
    """Budget and time that a process has left.

    Attributes:
        budget: what is left of its budget, and of those further out.
        seconds: seconds that are left until its deadline; `None` without a deadline.
    """

    budget: Budget
    seconds: float | None = None

    @staticmethod
    def of(execution: Execution) -> ProcessLimits:
        """Return what a process may spend now."""
        context = execution.context
        seconds = None if context.deadline is None else context.deadline - context.clock.time()
        return ProcessLimits(execution.meter.left, seconds)

    def find_excess(self, plan: Plan) -> tuple[str, Objective] | None:
        """Return which limit a plan is expected to exceed, and the objective that keeps it; `None` when it fits."""
        expected, budget = plan.expected, self.budget
        if budget.cost is not None and expected.dollars > budget.cost + _MARGIN:
            return f"the budget of ${budget.cost:.2f}", Objective.DOLLARS
        if budget.seconds is not None and expected.makespan > budget.seconds + _MARGIN:
            return f"the budget of {format_count(budget.seconds, 'second')}", Objective.TIME
        if self.seconds is not None and expected.makespan > self.seconds + _MARGIN:
            return f"the deadline in {self.seconds:.3g} s", Objective.TIME
        return None


async def keep_limits(
    execution: Execution,
    forecast: Forecast,
    decision: Decision,
    decide: Callable[[PlannedAgentSpec], Awaitable[Decision]],
) -> tuple[Decision, str | None]:
    """Return a decision for a plan that keeps the budget and the deadline, and why none does, before anything is done.

    Args:
        execution: the process.
        forecast: what its actions are expected to take.
        decision: the decision for its objective.
        decide: decides for the agent with other prices.
    """
    limits = ProcessLimits.of(execution)
    if decision.plan is None or (excess := limits.find_excess(decision.plan)) is None:
        return decision, None
    limit, saved = excess
    for objective in _list_compromises(forecast.objective, saved):
        other = await decide(forecast.price(objective))
        if other.plan is not None:
            decision = other
            if limits.find_excess(other.plan) is None:
                return decision, None
    is_begun = bool(execution.state.history)
    return decision, None if is_begun else f"no plan is expected to keep {limit}: {_describe(decision.plan)}"


def _list_compromises(objective: Objective, saved: Objective) -> Iterator[Objective]:
    """Yield objectives that save what a limit is about more and more, and in the end nothing else."""
    for weight in _COMPROMISES:
        yield Objective(
            objective.cost, objective.seconds + weight * saved.seconds, objective.dollars + weight * saved.dollars
        )
    yield saved


def _describe(plan: Plan | None) -> str:
    return (
        ""
        if plan is None
        else f"the cheapest, {plan}, takes ${plan.expected.dollars:.4f} and {plan.expected.makespan:.3g} s"
    )
