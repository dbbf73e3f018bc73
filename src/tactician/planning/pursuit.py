"""Cheapest plans for goals, when not everything is known: hope for the best, and ask for what the hope rests on."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from tactician.planning.budget import SearchLimitExceeded
from tactician.planning.inquiry import Inquiry
from tactician.planning.model import NIRVANA, Goal, Plan, round_amount
from tactician.planning.problem import PlanningProblem
from tactician.planning.session import Session

if TYPE_CHECKING:
    from tactician.planning.solving import Solution


def plan_for(session: Session, goal: Goal) -> Inquiry[Plan | None]:
    """Return the best plan for the goal, and ask only for conditions that it depends on."""
    pursuit = Pursuit(session, goal)
    while (name := (yield from pursuit.question())) is not None:
        yield from session.ask(name)
    return pursuit.plan()


def best_plan(session: Session, goals: Iterable[Goal]) -> Inquiry[Plan | None]:
    """Return the plan of highest net value; of several, that for a goal already reached, or else for the first goal.

    The search always continues with the goal that promises most. Once that promise is kept, no other goal is planned
    for, and the conditions of other goals are not asked for.
    """
    remaining = tuple(goals)
    if len(remaining) == 1:  # nothing to compare
        return (yield from plan_for(session, remaining[0]))
    pursuits = [Pursuit(session, goal) for goal in remaining]
    queue = [(*pursuit.rank(), position) for position, pursuit in enumerate(pursuits)]
    heapq.heapify(queue)
    exceeded: SearchLimitExceeded | None = None
    while queue:
        *_, position = heapq.heappop(queue)
        pursuit = pursuits[position]
        session.rivals = len(queue)
        try:
            name = yield from pursuit.question()
        except SearchLimitExceeded as error:
            exceeded = exceeded or error
            continue
        if pursuit.is_hopeless():
            continue
        entry = *pursuit.rank(), position
        if queue and queue[0] < entry:
            heapq.heappush(queue, entry)
        elif name is None:
            return pursuit.plan()
        else:
            yield from session.ask(name)
            heapq.heappush(queue, entry)
    if exceeded is not None:
        raise exceeded
    return None


class Pursuit:
    """The best plan for a goal, as far as is known: the plan assumes the best of what is unknown.

    A plan that relies on nothing unknown is optimal, as no answer could make a better one possible.
    """

    def __init__(self, session: Session, goal: Goal) -> None:
        """Begin, without planning yet."""
        self.goal = goal
        self._session = session
        self._steps: list[int] | None = None
        self._plan: Plan | None = None
        self._assumed = 0
        self._settled = goal == NIRVANA

    def question(self) -> Inquiry[str | None]:
        """Plan, and name a condition that decides whether the plan can be run; None if nothing more is to be asked."""
        if self._settled:
            return None
        if self._plan is None and (plan := self._session.direct_plan(self.goal)) is not None:
            self._plan, self._settled = plan, True
            return None
        yield from self._assume_the_best()
        name = None if self._steps is None else self._problem.first_use(self._steps, self._assumed)
        if name is not None and (yield from self._without_assumptions()):
            name = None
        self._settled = name is None
        return name

    def is_hopeless(self) -> bool:
        """Return True if the search has started and there is certainly no plan."""
        return self._settled and self._plan is None

    def promise(self) -> float:
        """Return an upper bound of the net value of the plan: its net value once there is nothing more to ask."""
        if self._settled and self._plan is not None:
            return self._plan.net_value
        if self._problem.may_gain:
            return math.inf
        return self._session.worth(self.goal) - (0.0 if self._plan is None else self._plan.cost)

    def rank(self) -> tuple[float, bool]:
        """Return the sort key: the highest promise first; of equal ones, a goal that may be reached already."""
        return -round_amount(self.promise()), not self._session.may_hold(self.goal.conditions)

    def plan(self) -> Plan | None:
        """Return the plan, once there is nothing more to ask."""
        return self._plan

    @cached_property
    def _problem(self) -> PlanningProblem:
        return self._session.index.problem(self.goal)

    def _assume_the_best(self) -> Inquiry[None]:
        yield None  # to compile an action sequence takes a while
        session, problem = self._session, self._problem
        yield None
        self._assumed = session.unknown_facts(problem)
        start = problem.facts_in(session.world) | self._assumed
        if self._steps is None or not problem.runs(self._steps, start):
            self._follow((yield from session.solve(self.goal, problem, start)))

    def _without_assumptions(self) -> Inquiry[bool]:
        """Replace the plan by an equally good plan that relies on nothing unknown; return True on success."""
        start = self._problem.facts_in(self._session.world)
        solution = yield from self._session.solve(self.goal, self._problem, start)
        is_better = solution.steps is not None and self._weight(solution.steps) <= self._weight(self._steps or [])
        if is_better:
            self._follow(solution)
        return is_better

    def _weight(self, steps: Iterable[int]) -> int:
        weights = self._problem.weights(self._session.cost)
        return sum(weights[step] for step in steps)

    def _follow(self, solution: Solution) -> None:
        actions, steps = self._problem.actions, solution.steps
        self._steps = steps
        self._plan = None
        if steps is not None:
            self._plan = self._session.build_plan(self.goal, [actions[step] for step in steps], solution.bound)
