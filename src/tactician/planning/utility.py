"""Planning a single step at a time: whatever is worth most now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tactician.planning.inquiry import Determine, Inquiry
from tactician.planning.model import NIRVANA, Action, Goal, Plan, round_amount
from tactician.planning.planner import InquiringPlanner, plans_for
from tactician.planning.session import Session

if TYPE_CHECKING:
    from tactician.planning.explanation import Explanation
    from tactician.planning.rules import Rule
    from tactician.planning.verdict import Verdict


class UtilityPlanner(InquiringPlanner):
    """Planner that chooses the action of highest net value, its value less its cost, among those that can run now.

    Between actions worth the same it prefers the more specific action, with more preconditions, then the action
    declared first. A goal that is reached comes first and ends it. A goal that an action reaches adds its value to that
    of the action; `NIRVANA`, which the best action serves whatever it leads to, is always among the goals.

    Args:
        determine: tells whether an unknown condition holds, or None if that cannot be known. It is asked only for
            conditions that the choice depends on, and for each at most once per call of the planner. Without it,
            unknown conditions satisfy nothing
        rules: rules that each choice keeps, and preferences (`tactician.planning.rules`)

    Raises:
        ValueError: a cost function returned a number that is negative or not finite, or a value function a number that
            is not finite
    """

    _looks_ahead = False

    def __init__(self, determine: Determine | None = None, *, rules: Iterable[Rule] = ()) -> None:
        """Remember the options."""
        super().__init__(determine, rules=rules)

    def _plan(self, session: Session, goal: Goal) -> Inquiry[Plan | None]:
        return best_now(session, (goal,))

    def _best(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[Plan | None]:
        return best_now(session, with_nirvana(goals))

    def _plans(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[list[Plan]]:
        plans = yield from plans_for(session, [best_now(session, (goal,)) for goal in with_nirvana(goals)])
        order = {id(action): rank for rank, action in enumerate(_specific_first(session.index.actions))}
        return sorted(plans, key=lambda plan: _before_others(plan, order))

    def _obstacle(self, session: Session, goal: Goal) -> Explanation:
        from tactician.planning.explanation import explain_idle

        return explain_idle(session.world, session.index, goal)

    def _contrast(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
        from tactician.planning.contrast import compare

        return compare(session, goal, plan, about)


def with_nirvana(goals: Iterable[Goal]) -> tuple[Goal, ...]:
    """Return the goals that can be reached, and after them `NIRVANA`."""
    return *real(goals), NIRVANA


def real(goals: Iterable[Goal]) -> tuple[Goal, ...]:
    """Return the goals that can be reached."""
    return tuple(goal for goal in goals if goal != NIRVANA)


def best_now(session: Session, goals: Iterable[Goal], above: float = -math.inf) -> Inquiry[Plan | None]:
    """Return the plan without actions for a goal that is reached, or else the best action worth more than `above`.

    The options are tried from the best on, so conditions are asked for only while they could decide for a better
    option.
    """
    goals = tuple(goals)
    reached = yield from find_reached(session, goals)
    if reached is not None:
        return reached
    for option in _options(session, goals):
        if option.net_value <= above:
            break
        conditions = _conditions_of(option.actions[0], option.goal)
        if conditions is not None and (yield from session.holds(conditions)):
            return option
    return None


def find_reached(session: Session, goals: Iterable[Goal]) -> Inquiry[Plan | None]:
    """Return the plan without actions for the goal of highest value among those that are reached."""
    for goal in sorted(real(goals), key=lambda goal: -round_amount(session.worth(goal))):
        if (yield from session.holds(goal.conditions)):
            return session.build_plan(goal, ())
    return None


def _options(session: Session, goals: tuple[Goal, ...]) -> list[Plan]:
    """Return the plans of a single action that may work, the best first."""
    actions = [
        action
        for action in _specific_first(session.index.actions)
        if session.may_hold(action.pre) and session.can_choose(action)
    ]
    options = [
        session.build_plan(goal, (action,))
        for action in actions
        for goal in goals
        if (conditions := _conditions_of(action, goal)) is not None and session.may_hold(conditions)
    ]
    return sorted(options, key=lambda option: -round_amount(option.net_value))


def _conditions_of(action: Action, goal: Goal) -> Mapping[str, bool] | None:
    """Return the conditions under which the action can run and reach the goal; None if it cannot reach the goal."""
    if goal == NIRVANA:
        return action.pre
    effects, conditions = action.effects, dict(action.pre)
    for name, value in goal.conditions.items():
        if effects.get(name, value) != value or (name not in effects and conditions.setdefault(name, value) != value):
            return None
    return conditions


def _specific_first(actions: Iterable[Action]) -> list[Action]:
    return sorted(actions, key=lambda action: -len(action.pre))


def _before_others(plan: Plan, order: dict[int, int]) -> tuple[bool, float, int]:
    return bool(plan.actions), -round_amount(plan.net_value), order[id(plan.actions[0])] if plan.actions else 0
