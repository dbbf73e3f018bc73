"""The plan of least weighted cost and makespan, among those that reach the goal in different ways.

The cheapest plan by the sum of its actions is where it begins. Other ways are tried by branching over which action
provides a missing condition; each complete set of actions is scheduled. A set is given up once its costs and its
longest chain are no better than the best plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tactician.planning.forecast.expectation import create_scheduler, get_estimate
from tactician.planning.forecast.objectives import Objective
from tactician.planning.index import ActionIndex
from tactician.planning.model import Action, Plan
from tactician.planning.world import Fact, WorldState

_SETS: Final = 2000
"""Sets of actions that are looked at: as many as take a tenth of a second."""


def find_fastest(
    plan: Plan, world: WorldState, actions: Sequence[Action], objective: Objective, max_parallel: int
) -> Plan:
    """Return the best plan for the goal of a plan, when so many actions run at once.

    Costs of the actions are their costs in sum. `objective.seconds` weighs the makespan in place of the sum of seconds.

    Args:
        plan: a plan for the goal, to begin with.
        world: the world that it starts in.
        actions: the actions to choose from, priced by the objective.
        objective: the weights.
        max_parallel: number of actions that may run at once.
    """
    best = arrange(plan, max_parallel)
    if max_parallel == 1 or not objective.seconds or len(plan.actions) < 2:
        return best
    return _FastestSearch(best, world, actions, objective).run()


def arrange(plan: Plan, max_parallel: int) -> Plan:
    """Return the plan in the order in which its actions take the least time when so many run at once."""
    if max_parallel == 1 or len(plan.actions) < 2:
        return replace(plan, max_parallel=max_parallel)
    scheduler = create_scheduler(plan.actions, max_parallel)
    schedule = scheduler.find()
    return replace(
        plan,
        actions=tuple(plan.actions[step] for step in schedule.order),
        costs=tuple(plan.costs[step] for step in schedule.order),
        max_parallel=max_parallel,
        keeps_order=scheduler.must_keep_order(schedule),
    )


class _FastestSearch:
    def __init__(self, plan: Plan, world: WorldState, actions: Sequence[Action], objective: Objective) -> None:
        self._best = plan
        self._world = world
        self._index = ActionIndex(tuple(actions))
        self._weight = objective.seconds
        self._least = self._weigh(plan.actions, plan.costs) + self._weight * plan.expected.makespan
        self._left = _SETS

    def run(self) -> Plan:
        self._branch({}, [*self._best.goal.conditions.items()])
        return self._best

    def _weigh(self, actions: Sequence[Action], costs: Sequence[float]) -> float:
        """Return the cost of actions without their seconds."""
        return sum(
            cost - self._weight * estimate.seconds * estimate.attempts
            for cost, estimate in zip(costs, map(get_estimate, actions), strict=True)
        )

    def _branch(self, chosen: dict[str, Action], missing: list[Fact]) -> None:
        """Provide the first missing fact in every way."""
        if self._left <= 0:
            return
        self._left -= 1
        provided = {fact for action in chosen.values() for fact in action.effects.items()}
        missing = [fact for fact in missing if fact not in provided and self._world.get(fact[0]) is not fact[1]]
        if not missing:
            self._offer(chosen)
            return
        for action in self._index.achievers_of(missing[0]):
            if action.name not in chosen:
                more = {**chosen, action.name: action}
                if self._bound(more) < self._least - 1e-9:
                    self._branch(more, [*missing[1:], *action.pre.items()])

    def _bound(self, chosen: Mapping[str, Action]) -> float:
        actions = [*chosen.values()]
        work = [get_estimate(action) for action in actions]
        seconds = [estimate.seconds * estimate.attempts for estimate in work]
        least = max([sum(seconds) / self._best.max_parallel, *seconds])
        return self._weigh(actions, self._list_costs(actions)) + self._weight * least

    def _list_costs(self, actions: Sequence[Action]) -> list[float]:
        return [action.cost_in(self._world) for action in actions]

    def _offer(self, chosen: Mapping[str, Action]) -> None:
        ordered = [*self._sort(chosen)]
        if len(ordered) < len(chosen):
            return
        costs = self._list_costs(ordered)
        weight = self._weigh(ordered, costs)
        scheduler = create_scheduler(ordered, self._best.max_parallel)
        if weight + self._weight * scheduler.bound >= self._least - 1e-9:
            return
        schedule = scheduler.find()
        if (total := weight + self._weight * schedule.makespan) < self._least - 1e-9:
            plan = replace(self._best, actions=tuple(ordered), costs=tuple(costs), possible_saving=0.0)
            self._least, self._best = total, arrange(plan, self._best.max_parallel)

    def _sort(self, chosen: Mapping[str, Action]) -> Iterator[Action]:
        """Yield actions in an order in which they work, as far as they do, and none where the goal is not reached."""
        world, waiting, ordered = self._world, [*chosen.values()], list[Action]()
        while waiting:
            action = next((action for action in waiting if action.is_runnable_in(world)), None)
            if action is None:
                return
            waiting.remove(action)
            ordered.append(action)
            world = world.apply(action)
        if self._best.goal.is_reached_in(world):
            yield from ordered
