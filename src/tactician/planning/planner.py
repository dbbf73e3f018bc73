"""Interface of all planners, and planning while some conditions may be unknown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

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
    from tactician.planning.rules import Rule
    from tactician.planning.ruling.progress import RuleProgress
    from tactician.planning.verdict import Verdict

    History: TypeAlias = Sequence[str] | RuleProgress


class PlanningAlgorithm(Protocol):
    """Interface of the planners: `AStarPlanner`, `UtilityPlanner` and `HybridPlanner`."""

    def plan(self, world: WorldState, actions: Iterable[Action], goal: Goal, *, history: History = ()) -> Plan | None:
        """Return the best plan for the goal, without actions if the goal is reached already, or `None`."""

    def best(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> Plan | None:
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
        history: History = (),
    ) -> Consultation:
        """Search for the best plan, and halt where it depends on an unknown condition or takes long."""

    def continue_plan(
        self, plan: Plan, before: WorldState, world: WorldState, actions: tuple[Action, ...]
    ) -> Plan | None:
        """Return the rest of a plan whose first action has run, if no plan for its goal is better now."""

    def plans(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> list[Plan]:
        """Return the best plan for each goal that can be reached, the best first."""

    def prune(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> tuple[Action, ...]:
        """Return the actions that the best plan for some goal uses, in the order of `actions`."""

    def explain(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        about: Action | None = None,
        others: Iterable[Goal] = (),
        history: History = (),
    ) -> Explanation:
        """Explain the plan for the goal, or why no plan exists, and compare it with other goals and actions."""

    def trace(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        budget: PlanningBudget | None = None,
        history: History = (),
    ) -> SearchTrace:
        """Return the best plan for the goal, with a trace of the search."""


class InquiringPlanner(ABC):
    """A planner whose choices are inquiries: they yield the conditions that they depend on."""

    _looks_ahead = True

    def __init__(
        self,
        determine: Determine | None = None,
        *,
        budget: PlanningBudget = DEFAULT_PLANNING,
        rules: Iterable[Rule] = (),
    ) -> None:
        """Remember the options."""
        self.budget = budget
        self.rules = tuple(rules)
        self._determine = determine
        self._indexes = IndexCache()

    def plan(self, world: WorldState, actions: Iterable[Action], goal: Goal, *, history: History = ()) -> Plan | None:
        """Return the best plan for the goal, without actions if the goal is reached already, or `None`."""
        session = self._session(world, actions, history=history)
        return self._run(session, self._plan(session, session.guard(goal)))

    def best(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> Plan | None:
        """Return the first of `plans`, without the work and the questions that only the others need."""
        session = self._session(world, actions, history=history)
        return self._run(session, self._best(session, tuple(map(session.guard, goals))))

    def consult(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goals: Iterable[Goal],
        *,
        budget: PlanningBudget | None = None,
        known: Plan | None = None,
        asks: bool = True,
        history: History = (),
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
            history: the successful actions so far, for the planner's rules, or where the run stands with its own rules
        """
        session = self._session(world, actions, asks=asks, budget=budget, known=known, history=history)
        return Consultation(session, self._best(session, tuple(map(session.guard, goals))))

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

    def plans(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> list[Plan]:
        """Return the best plan for each goal that can be reached, the best first."""
        session = self._session(world, actions, history=history)
        plans = run_inquiry(self._plans(session, tuple(map(session.guard, goals))), self._determine)
        return list(map(session.restore, plans))

    def prune(
        self, world: WorldState, actions: Iterable[Action], goals: Iterable[Goal], *, history: History = ()
    ) -> tuple[Action, ...]:
        """Return the actions that the best plan for some goal uses, in the order of `actions`."""
        offered = tuple(actions)
        used = {id(action) for plan in self.plans(world, offered, goals, history=history) for action in plan.actions}
        return tuple(action for action in offered if id(action) in used)

    def explain(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        about: Action | None = None,
        others: Iterable[Goal] = (),
        history: History = (),
    ) -> Explanation:
        """Explain the plan for the goal, or why no plan exists.

        Args:
            world: the conditions that are known
            actions: the actions that can be taken
            goal: the goal to reach
            about: an action: why it is in the plan, or why it is not
            others: goals that were not chosen: what their plans would come to
            history: the successful actions so far, for the planner's rules, or where the run stands with its own rules
        """
        from tactician.planning.explanation import Explanation

        session = self._session(world, actions, history=history)
        goal, *rivals = map(session.guard, (goal, *(other for other in others if other != goal)))
        plan = run_inquiry(self._plan(session, goal), self._determine)
        plans = [run_inquiry(self._plan(session, rival), self._determine) for rival in rivals]
        explanation = Explanation(goal, plan) if plan else self._obstacle(session, goal)
        verdict = self._verdict(session, goal, plan, about) if about else None
        explanation = replace(explanation, about=verdict, rivals=tuple(by_net_value(filter(None, plans))))
        return explanation if session.view is None else session.view.restore_explanation(explanation)

    def _session(
        self,
        world: WorldState,
        actions: Iterable[Action],
        *,
        asks: bool | None = None,
        budget: PlanningBudget | None = None,
        known: Plan | None = None,
        history: History = (),
    ) -> Session:
        meter = PlanningMeter(budget or self.budget)
        asks = self._determine is not None if asks is None else asks
        offered = tuple(actions)
        if not self.rules and not history:
            return Session(world, self._indexes.index(offered), asks=asks, meter=meter, known=known)
        from tactician.planning.ruling.view import RuledView

        view = RuledView.of(self.rules, world, offered, history, looks_ahead=self._looks_ahead)
        if view is None:
            return Session(world, self._indexes.index(offered), asks=asks, meter=meter, known=known)
        # The view has actions of its own, so the last plan is translated before the index looks for its steps.
        index, known = self._indexes.index(view.actions), view.translate(known)
        return Session(view.world, index, asks=asks, meter=meter, known=known, view=view)

    def _run(self, session: Session, inquiry: Inquiry[Plan | None]) -> Plan | None:
        plan = run_inquiry(inquiry, self._determine)
        return None if plan is None else session.restore(plan)

    def trace(
        self,
        world: WorldState,
        actions: Iterable[Action],
        goal: Goal,
        *,
        budget: PlanningBudget | None = None,
        history: History = (),
    ) -> SearchTrace:
        """Return the best plan for the goal, with a trace of the search.

        Raises:
            SearchLimitExceeded: a limit of the budget was reached before there was a plan
        """
        session = self._session(world, actions, budget=budget, history=history)
        plan = self._run(session, self._plan(session, session.guard(goal)))
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

        if session.view is not None:
            return session.view.judge(about, lambda form: self._judge(session, goal, plan, form))
        if about not in session.index.actions:
            return Verdict(about, "not offered")
        return self._judge(session, goal, plan, about)

    def _judge(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
        from tactician.planning.verdict import Verdict

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
