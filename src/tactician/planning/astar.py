"""Goal-oriented planning: the cheapest way to a goal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tactician.planning.inquiry import Inquiry
from tactician.planning.model import Action, Goal, Plan
from tactician.planning.planner import InquiringPlanner, plans_for
from tactician.planning.pursuit import best_plan, plan_for
from tactician.planning.session import Session
from tactician.planning.world import WorldState

if TYPE_CHECKING:
    from tactician.planning.explanation import Explanation
    from tactician.planning.verdict import Verdict


class AStarPlanner(InquiringPlanner):
    """Planner that finds the plan of least cost, or the best within its budget; the plan says which it is.

    Small decisions are optimal at once. For a hard decision there is a plan soon, then better ones, and a bound that
    says how much better a plan could be: see `Plan.optimal`, `bound` and `gap`. Of plans that cost the same, the plan
    with fewer steps is preferred, as far as that is quickly known; no plan has a step that could be left out.

    Costs are compared in billionths. Between actions that serve equally well it prefers the more specific action, with
    more preconditions, then the action declared first; steps that do not depend on each other run in that order too.
    The same arguments always give the same plan, unless the time of the budget runs short.

    Among several goals, the best plan has the highest net value, or else serves the goal named first.

    A planner remembers what it compiled for the action sequences and goals it saw last (8 sequences of up to 64
    goals), so replanning with the same `Action` objects is cheap.

    Args:
        determine: tells whether an unknown condition holds, or None if that cannot be known. It is asked only for
            conditions that the best plan depends on, and for each at most once per call of the planner. Without it,
            unknown conditions satisfy nothing
        budget: the limits of a call: a second, 250,000 states and 300 MB by default
        rules: rules that each plan keeps, and preferences whose penalty it pays (`tactician.planning.rules`)

    Raises:
        ValueError: a cost function returned a number that is negative or not finite, or a value function a number that
            is not finite
        SearchLimitExceeded: a limit of the budget was reached before there was a plan, or a proof that no plan exists
    """

    @override
    def continue_plan(
        self, plan: Plan, before: WorldState, world: WorldState, actions: tuple[Action, ...]
    ) -> Plan | None:
        # Every part of a cheapest plan is the cheapest way between its ends, as long as no cost depends on the world.
        if not plan.actions or not plan.optimal or not world.is_result_of(plan.actions[0], before):
            return None
        has_fixed_amounts = self._indexes.index(actions).has_fixed_amounts and not callable(plan.goal.value)
        return plan.without_first() if has_fixed_amounts else None

    def _plan(self, session: Session, goal: Goal) -> Inquiry[Plan | None]:
        return plan_for(session, goal)

    def _best(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[Plan | None]:
        return best_plan(session, goals)

    def _plans(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[list[Plan]]:
        return plans_for(session, [plan_for(session, goal) for goal in goals])

    def _obstacle(self, session: Session, goal: Goal) -> Explanation:
        from tactician.planning.explanation import explain_missing

        return explain_missing(session.world, session.index, goal)

    def _contrast(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
        from tactician.planning.contrast import contrast

        return contrast(session, goal, plan, about)
