"""Call of the planner: a world, and the conditions and amounts evaluated so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tactician.planning.budget import PlanningMeter, SearchLimitExceeded
from tactician.planning.direct import find_direct_plan
from tactician.planning.index import ActionIndex
from tactician.planning.inquiry import Inquiry
from tactician.planning.model import Action, Goal, Plan
from tactician.planning.problem import UNITS_PER_COST, PlanningProblem
from tactician.planning.search_trace import SearchMilestone
from tactician.planning.world import UNKNOWN, WorldState

if TYPE_CHECKING:
    from tactician.planning.ruling.view import RuledView
    from tactician.planning.solving import Solution


class Session:
    """Knowledge about a world, which asks for each condition, and calls the function of each amount, at most once.

    `world` is the world with the answers so far; amounts are those in the initial world.
    """

    def __init__(
        self,
        world: WorldState,
        index: ActionIndex,
        *,
        asks: bool,
        meter: PlanningMeter,
        known: Plan | None = None,
        view: RuledView | None = None,
    ) -> None:
        """Start with the initial world; without `asks`, what is unknown stays so.

        `known` is a plan that may work. `view` is what rules make of the decision; it holds the world and the actions.
        """
        self.world = world
        self.index = index
        self._initial = world
        self._amounts: dict[tuple[int, str], tuple[Action | Goal, float]] = {}
        self._asks = asks
        self._asked: set[str] = set()
        self.meter = meter
        self.milestones: tuple[SearchMilestone, ...] = ()  # of the last search
        self.rivals = 0  # goals that may be planned for later
        self._known = known
        self.view = view

    def guard(self, goal: Goal) -> Goal:
        """Return the goal with the conditions of the rules."""
        return goal if self.view is None else self.view.guard(goal)

    def restore(self, plan: Plan) -> Plan:
        """Return a plan in the actions of the caller, which rules may have written in several forms."""
        return plan if self.view is None else self.view.restore(plan)

    def can_choose(self, action: Action) -> bool:
        """Return True for an action that does something, and does not only pay for a rule that is given up."""
        return self.view is None or not self.view.gives_up(action)

    def cost(self, action: Action) -> float:
        """Return the cost of running the action."""
        return self._evaluate_once(action, action.cost_in) if callable(action.cost) else action.cost

    def value(self, action: Action) -> float:
        """Return the value of running the action."""
        return self._evaluate_once(action, action.value_in) if callable(action.value) else action.value

    def worth(self, goal: Goal) -> float:
        """Return the value of reaching the goal."""
        return self._evaluate_once(goal, goal.value_in) if callable(goal.value) else goal.value

    def _evaluate_once(self, owner: Action | Goal, evaluate: Callable[[WorldState], float]) -> float:
        """Return the amount, evaluated at most once for each owner, which is kept so that its id stays its own."""
        key = id(owner), evaluate.__name__
        if (entry := self._amounts.get(key)) is None:
            entry = self._amounts[key] = owner, evaluate(self._initial)
        return entry[1]

    def is_open(self, name: str) -> bool:
        """Return True if a condition is unknown and can be asked for."""
        return self._asks and name not in self._asked and not isinstance(self.world.get(name, UNKNOWN), bool)

    def ask(self, name: str) -> Inquiry[None]:
        """Ask whether a condition holds."""
        self._asked.add(name)
        answer = yield name
        self.world = self.world.with_({name: UNKNOWN if answer is None else answer})

    def may_hold(self, conditions: Mapping[str, bool]) -> bool:
        """Return True if the conditions hold, or could turn out to."""
        return all(self.world.get(name) == value or self.is_open(name) for name, value in conditions.items())

    def holds(self, conditions: Mapping[str, bool]) -> Inquiry[bool]:
        """Return True if the conditions hold, and ask for unknown ones while the others leave it open."""
        while self.may_hold(conditions):
            name = next((name for name in conditions if self.is_open(name)), None)
            if name is None:
                return True
            yield from self.ask(name)
        return False

    def unknown_facts(self, problem: PlanningProblem) -> int:
        """Return both facts of every condition that can be asked for."""
        mask = 0
        if self._asks:
            for (name, _), bit in problem.facts.items():
                if self.is_open(name):
                    mask |= bit
        return mask

    def solve(self, goal: Goal, problem: PlanningProblem, start: int) -> Inquiry[Solution]:
        """Return the best steps from the state in which these facts hold.

        Raises:
            SearchLimitExceeded: a limit was reached before there was a plan
        """
        from tactician.planning.solving import solve

        self.meter.begin_search(self.rivals)
        weights = problem.weights(self.cost)
        solution = yield from solve(problem, weights, start, self.meter, self._find_known_steps(problem, start))
        self.milestones = tuple(
            SearchMilestone(
                milestone.expansions,
                milestone.seconds,
                milestone.bound / UNITS_PER_COST,
                None if milestone.cost is None else milestone.cost / UNITS_PER_COST,
            )
            for milestone in solution.milestones
        )
        if solution.steps is None and solution.limit is not None:
            nearest = tuple(problem.actions[step] for step in solution.nearest)
            raise SearchLimitExceeded(goal, self.meter.expansions, nearest, solution.limit, self.meter.budget)
        return solution

    def _find_known_steps(self, problem: PlanningProblem, start: int) -> list[int] | None:
        """Return the steps of the longest rest of the known plan that works from here."""
        if self._known is None:
            return None
        numbers = {id(action): number for number, action in enumerate(problem.actions)}
        steps = [number for action in self._known.actions if (number := numbers.get(id(action))) is not None]
        return next((steps[n:] for n in range(len(steps)) if problem.runs(steps[n:], start)), None)

    def direct_plan(self, goal: Goal) -> Plan | None:
        """Return the plan that follows without a choice; `None` if there is a choice, a question, or no plan."""
        actions = find_direct_plan(self.index, dict(self.world.items()), goal)
        if actions is None or (self._asks and self._is_any_open(goal.conditions, *(action.pre for action in actions))):
            return None
        return self.build_plan(goal, actions)

    def _is_any_open(self, *conditions: Mapping[str, bool]) -> bool:
        return any(self.is_open(name) for several in conditions for name in several)

    def build_plan(self, goal: Goal, actions: Sequence[Action], bound: int | None = None) -> Plan:
        """Return the plan that runs these actions.

        Args:
            goal: the goal that the plan reaches
            actions: the actions of the plan, in order
            bound: lower bound of the cost of any plan, in billionths; the cost of this plan by default
        """
        values = [self.value(action) if callable(action.value) else action.value for action in actions]
        value = math.fsum((self.worth(goal), *values))
        costs = tuple([self.cost(action) if callable(action.cost) else action.cost for action in actions])
        saving = 0.0 if bound is None else max(0.0, math.fsum(costs) - bound / UNITS_PER_COST)
        return Plan(goal, tuple(actions), costs, value, saving)
