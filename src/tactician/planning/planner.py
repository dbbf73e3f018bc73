"""Interface of all planners, and planning while some conditions may be unknown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tactician.planning.budget import DEFAULT_PLANNING, PlanningBudget, PlanningMeter
from tactician.planning.consultation import Consultation
from tactician.planning.index import IndexCache
from tactician.planning.inquiry import Determine, Inquiry, run_inquiry
from tactician.planning.model import Action, Goal, Plan, round_amount
from tactician.planning.search_trace import SearchTrace
from tactician.planning.session import Session
from tactician.planning.world import WorldState

if TYPE_CHECKING:
    from tactician.planning.explanation import Explanation
    from tactician.planning.verdict import Verdict


class PlanningAlgorithm(Protocol):
    """Interface of the planners: `AStarPlanner`, `UtilityPlanner` and `HybridPlanner`."""

    def plan(self, world: WorldState, actions: Iterable[Action], goal: Goal) -> Plan | None:
        """Return the best plan for the goal, without actions if the goal is reached already, or `None`."""

    def best(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> Plan | None:
        """Return the first of `plans`, without the work and the questions that only the others need."""

    def consult(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goals: Iterable[Goal],
        *,
        budget: PlanningBudget | None = None,
        known: Plan | None = None,
        asks: bool = True,
    ) -> Consultation:
        """Search for the best plan, and halt where it depends on an unknown condition or takes long."""

    def continue_plan(
        self, plan: Plan, before: WorldState, world: WorldState, actions: tuple[Action, ...]
    ) -> Plan | None:
        """Return the rest of a plan whose first action has run, if no plan for its goal is better now."""

    def plans(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> list[Plan]:
        """Return the best plan for each goal that can be reached, the best first."""

    def prune(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> tuple[Action, ...]:
        """Return the actions that the best plan for some goal uses, in the order of `actions`."""

    def explain(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        about: Action | None = None,
        others: Iterable[Goal] = (),
    ) -> Explanation:
        """Explain the plan for the goal, or why no plan exists, and compare it with other goals and actions."""

    def trace(
        self, world: WorldState, actions: Iterable[Action], goal: Goal, *, budget: PlanningBudget | None = None
    ) -> SearchTrace:
        """Return the best plan for the goal, with a trace of the search."""


class InquiringPlanner(ABC):
    """A planner whose choices are inquiries: they yield the conditions that they depend on."""

    def __init__(self, determine: Determine | None = None, *, budget: PlanningBudget = DEFAULT_PLANNING) -> None:
        """Remember the options."""
        self.budget = budget
        self._determine = determine
        self._indexes = IndexCache()

    def plan(self, world: WorldState, actions: Iterable[Action], goal: Goal) -> Plan | None:
        """Return the best plan for the goal, without actions if the goal is reached already, or `None`."""
        return run_inquiry(self._plan(self._session(world, actions), goal), self._determine)

    def best(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> Plan | None:
        """Return the first of `plans`, without the work and the questions that only the others need."""
        return run_inquiry(self._best(self._session(world, actions), tuple(goals)), self._determine)

    def consult(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goals: Iterable[Goal],
        *,
        budget: PlanningBudget | None = None,
        known: Plan | None = None,
        asks: bool = True,
    ) -> Consultation:
        """Search for the best plan, and halt where it depends on an unknown condition or takes long.

        The search assumes the best of unknown conditions and asks only for those that the plan then depends on: a
        single condition at a time, from the most promising choice on, each at most once. `determine` is not
        called.

        Args:
            world: known conditions
            actions: actions to choose from
            goals: goals to choose from
            budget: the limits; the limits of the planner by default
            known: a plan that may still work, or a part of it: the result does not cost more
            asks: ask for unknown conditions; otherwise an unknown condition satisfies nothing
        """
        session = self._session(world, actions, asks=asks, budget=budget, known=known)
        return Consultation(session, self._best(session, tuple(goals)))

    def continue_plan(
        self, plan: Plan, before: WorldState, world: WorldState, actions: tuple[Action, ...]
    ) -> Plan | None:
        """Return the rest of a plan whose first action has run, if no plan for its goal is better now.

        Args:
            plan: the best plan for its goal
            before: the world that it was made for
            world: the world now
            actions: the actions to choose from, then and now

        Returns:
            the rest of the plan; None where that takes more than a look at the two worlds
        """
        return None

    def plans(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> list[Plan]:
        """Return the best plan for each goal that can be reached, the best first."""
        return run_inquiry(self._plans(self._session(world, actions), tuple(goals)), self._determine)

    def prune(self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal]) -> tuple[Action, ...]:
        """Return the actions that the best plan for some goal uses, in the order of `actions`."""
        offered = tuple(actions)
        used = {id(action) for plan in self.plans(world, offered, goals) for action in plan.actions}
        return tuple(action for action in offered if id(action) in used)

    def explain(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        about: Action | None = None,
        others: Iterable[Goal] = (),
    ) -> Explanation:
        """Explain the plan for the goal, or why no plan exists.

        Args:
            world: the conditions that are known
            actions: the actions that can be taken
            goal: the goal to reach
            about: an action: why it is in the plan, or why it is not
            others: goals that were not chosen: what their plans would come to
        """
        from tactician.planning.explanation import Explanation

        session = self._session(world, actions)
        plan = run_inquiry(self._plan(session, goal), self._determine)
        plans = [run_inquiry(self._plan(session, other), self._determine) for other in others if other != goal]
        explanation = Explanation(goal, plan) if plan else self._obstacle(session, goal)
        verdict = self._verdict(session, goal, plan, about) if about else None
        return replace(explanation, about=verdict, rivals=tuple(by_net_value(filter(None, plans))))

    def _session(
        self,
        world: WorldState,
        actions: Iterable[Action],
        *,
        asks: bool | None = None,
        budget: PlanningBudget | None = None,
        known: Plan | None = None,
    ) -> Session:
        meter = PlanningMeter(budget or self.budget)
        asks = self._determine is not None if asks is None else asks
        return Session(world, self._indexes.index(actions), asks=asks, meter=meter, known=known)

    def trace(
        self, world: WorldState, actions: Iterable[Action], goal: Goal, *, budget: PlanningBudget | None = None
    ) -> SearchTrace:
        """Return the best plan for the goal, with a trace of the search.

        Raises:
            SearchLimitExceeded: a limit of the budget was reached before there was a plan
        """
        session = self._session(world, actions, budget=budget)
        plan = run_inquiry(self._plan(session, goal), self._determine)
        return SearchTrace(plan, session.milestones)

    @abstractmethod
    def _plan(self, session: Session, goal: Goal) -> Inquiry[Plan | None]: ...

    @abstractmethod
    def _best(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[Plan | None]: ...

    @abstractmethod
    def _plans(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[list[Plan]]: ...

    @abstractmethod
    def _obstacle(self, session: Session, goal: Goal) -> Explanation: ...

    @abstractmethod
    def _contrast(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict: ...

    def _verdict(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
        from tactician.planning.verdict import Verdict

        if about not in session.index.actions:
            return Verdict(about, "not offered")
        if plan is not None and about in plan.actions:
            return Verdict(about, "in the plan")
        return self._contrast(session, goal, plan, about)


def plans_for(session: Session, inquiries: Sequence[Inquiry[Plan | None]]) -> Inquiry[list[Plan]]:
    """Return the plans that exist, ordered by `by_net_value`."""
    plans: list[Plan] = []
    for rivals, inquiry in zip(reversed(range(len(inquiries))), inquiries, strict=True):
        session.rivals = rivals
        plan = yield from inquiry
        if plan is not None:
            plans.append(plan)
    return by_net_value(plans)


def by_net_value(plans: Iterable[Plan]) -> list[Plan]:
    """Order plans: the best net value first, then a goal that is reached, then the order of the input."""
    return sorted(plans, key=lambda plan: (-round_amount(plan.net_value), bool(plan.actions)))
