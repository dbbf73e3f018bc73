"""The planner: cheapest plans for goals."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.planning.explanation import Explanation, explain_missing
from tactician.planning.index import IndexCache
from tactician.planning.model import Action, Goal, Plan
from tactician.planning.session import Determine, Session
from tactician.planning.world import WorldState


class AStarPlanner:
    """Finds the plan of least cost; among equals the one with fewest steps.

    Costs are compared in billionths. Between actions that serve equally well it prefers the more specific one, with
    more preconditions, then the one declared first; steps that do not depend on each other run in that order too.
    The same arguments always give the same plan.

    A planner remembers what it compiled for the action sequences and goals it saw last (8 sequences of up to 64
    goals), so replanning with the same `Action` objects is cheap.

    Args:
        determine: tells whether an unknown condition holds, or None if that cannot be known. It is asked only for
            conditions that the best plan depends on, and for each at most once per call of the planner. Without it,
            unknown conditions satisfy nothing
        max_expansions: how many states one search may explore, 250,000 by default

    Raises:
        ValueError: a cost function returned a number that is negative or not finite, or a value function one that
            is not finite
        SearchLimitExceeded: a search reached `max_expansions` before it knew the best plan
    """

    def __init__(self, determine: Determine | None = None, *, max_expansions: int = 250_000) -> None:
        """Remember the options."""
        self._determine = determine
        self._max_expansions = max_expansions
        self._indexes = IndexCache()

    def plan(self, world: WorldState, actions: Iterable[Action], goal: Goal) -> Plan | None:
        """The best plan that reaches the goal, without actions if it is reached already; None if there is none."""
        return self._session(world, actions).plan(goal)

    def plans(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> list[Plan]:
        """The best plan for each goal that can be reached, best net value first, then in the order of the goals."""
        session = self._session(world, actions)
        found = [plan for goal in goals if (plan := session.plan(goal)) is not None]
        return sorted(found, key=lambda plan: plan.net_value, reverse=True)

    def prune(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> tuple[Action, ...]:
        """The actions that the best plan for some goal uses, in the order given."""
        offered = tuple(actions)
        used = {id(action) for plan in self.plans(world, offered, goals) for action in plan.actions}
        return tuple(action for action in offered if id(action) in used)

    def explain(self, world: WorldState, actions: Iterable[Action], goal: Goal) -> Explanation:
        """The best plan with its costs, or what keeps the goal from being reached."""
        session = self._session(world, actions)
        plan = session.plan(goal)
        return Explanation(goal, plan) if plan else explain_missing(session.world, session.index, goal)

    def _session(self, world: WorldState, actions: Iterable[Action]) -> Session:
        return Session(world, self._indexes.index(actions), self._determine, self._max_expansions)
