"""Planning one step at a time: whatever is worth most now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tactician.planning.consultation import Determine, Inquiry
from tactician.planning.contrast import compare
from tactician.planning.explanation import Explanation, explain_idle
from tactician.planning.model import NIRVANA, Action, Goal, Plan
from tactician.planning.planner import InquiringPlanner, plans_for
from tactician.planning.session import Session


class UtilityPlanner(InquiringPlanner):
    """Chooses the action of highest net value, its value less its cost, among those that can run now.

    Between actions worth the same it prefers the more specific one, with more preconditions, then the one declared
    first. A goal that is reached comes first and ends it. A goal that one action reaches adds its value to that of
    the action; `NIRVANA`, which the best action serves whatever it leads to, is always among the goals.

    Args:
        determine: tells whether an unknown condition holds, or None if that cannot be known. It is asked only for
            conditions that the choice depends on, and for each at most once per call of the planner. Without it,
            unknown conditions satisfy nothing

    Raises:
        ValueError: a cost function returned a number that is negative or not finite, or a value function one that
            is not finite
    """

    def __init__(self, determine: Determine | None = None) -> None:
        """Remember the option."""
        super().__init__(determine)

    def _plan(self, session: Session, goal: Goal) -> Inquiry[Plan | None]:
        return best_now(session, (goal,))

    def _best(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[Plan | None]:
        return best_now(session, with_nirvana(goals))

    def _plans(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[list[Plan]]:
        found = yield from plans_for(best_now(session, (goal,)) for goal in with_nirvana(goals))
        ranks = {id(action): rank for rank, action in enumerate(ranked(session))}
        return sorted(found, key=lambda plan: _first_to_last(plan, ranks))

    def _explain(
        self, session: Session, goal: Goal, plan: Plan | None, about: Action | None, rivals: tuple[Plan, ...]
    ) -> Explanation:
        verdict = None if about is None else compare(session, goal, plan, about)
        if plan is None:
            return explain_idle(session.world, session.index, goal, verdict, rivals)
        return Explanation(goal, plan, about=verdict, rivals=rivals)
