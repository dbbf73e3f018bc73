"""One call of the planner: one world, and what has been asked and priced so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from tactician.planning.errors import SearchLimitExceeded
from tactician.planning.index import ActionIndex
from tactician.planning.model import Action, Goal, Plan
from tactician.planning.problem import Problem
from tactician.planning.search import ExpansionLimitError
from tactician.planning.solving import solve
from tactician.planning.world import UNKNOWN, WorldState

Determine = Callable[[str], bool | None]


class Session:
    """Plans for goals in one world; determines a condition, and calls a cost function, at most once.

    `world` is the world with what has been determined so far.
    """

    def __init__(self, world: WorldState, index: ActionIndex, determine: Determine | None, max_expansions: int) -> None:
        """Start with the world as it was given."""
        self.world = world
        self.index = index
        self._given = world
        self._determine = determine
        self._asked: set[str] = set()
        self._max_expansions = max_expansions
        self._cost = _once(lambda action: action.cost_in(world))
        self._value = _once(lambda action: action.value_in(world))

    def plan(self, goal: Goal) -> Plan | None:
        """The best plan for the goal.

        Raises:
            SearchLimitExceeded: the search reached its limit first
        """
        problem = self.index.problem(goal)
        try:
            steps = self._determined_steps(problem, self._determine) if self._determine else self._steps(problem)
        except ExpansionLimitError as limit:
            closest = tuple(problem.actions[step] for step in limit.steps)
            raise SearchLimitExceeded(goal, limit.expansions, closest) from None
        return None if steps is None else self._priced(goal, tuple(problem.actions[step] for step in steps))

    def _priced(self, goal: Goal, actions: tuple[Action, ...]) -> Plan:
        costs = tuple(self._cost(action) if callable(action.cost) else action.cost for action in actions)
        values = (self._value(action) if callable(action.value) else action.value for action in actions)
        return Plan(goal, actions, costs, math.fsum((goal.value_in(self._given), *values)))

    def _steps(self, problem: Problem, assumed: int = 0) -> list[int] | None:
        start = problem.facts_in(self.world) | assumed
        return solve(problem, problem.weights(self._cost), start, self._max_expansions)

    def _determined_steps(self, problem: Problem, determine: Determine) -> list[int] | None:
        """Assume the best of what is unknown, and ask only for what the plan then relies on.

        A plan that relies on nothing unknown is optimal, as no answer could make a better one possible.
        """
        assumed = self._unknown_facts(problem)
        steps = self._steps(problem, assumed)
        while steps is not None:
            name = problem.first_use(steps, assumed)
            if name is None:
                return steps
            without = self._steps(problem)
            if without is not None and self._weight(problem, without) == self._weight(problem, steps):
                return without
            self._ask(name, determine)
            assumed = self._unknown_facts(problem)
            if not problem.runs(steps, problem.facts_in(self.world) | assumed):
                steps = self._steps(problem, assumed)
        return None

    def _weight(self, problem: Problem, steps: Iterable[int]) -> int:
        weights = problem.weights(self._cost)
        return sum(weights[step] for step in steps)

    def _unknown_facts(self, problem: Problem) -> int:
        """Both facts of every condition that could still be determined."""
        mask = 0
        for (name, _), bit in problem.facts.items():
            if name not in self._asked and not isinstance(self.world.get(name, UNKNOWN), bool):
                mask |= bit
        return mask

    def _ask(self, name: str, determine: Determine) -> None:
        self._asked.add(name)
        answer = determine(name)
        self.world = self.world.with_({name: UNKNOWN if answer is None else answer})


def _once(evaluate: Callable[[Action], float]) -> Callable[[Action], float]:
    """The function, evaluated at most once for each action."""
    known: dict[int, float] = {}

    def evaluate_once(action: Action) -> float:
        amount = known.get(id(action))
        if amount is None:
            amount = known[id(action)] = evaluate(action)
        return amount

    return evaluate_once
