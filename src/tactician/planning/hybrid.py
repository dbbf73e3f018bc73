"""Planning that does what is worth while on the way to a goal, and ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tactician.planning.astar import AStarPlanner
from tactician.planning.inquiry import Inquiry
from tactician.planning.model import NIRVANA, Action, Goal, Plan, round_amount
from tactician.planning.planner import plans_for
from tactician.planning.pursuit import best_plan, plan_for
from tactician.planning.session import Session
from tactician.planning.utility import best_now, find_reached, real
from tactician.planning.world import WorldState

if TYPE_CHECKING:
    from tactician.planning.explanation import Explanation
    from tactician.planning.verdict import Verdict


class HybridPlanner(AStarPlanner):
    """Planner with several criteria, in this order.

    1. A goal that is reached ends it.
    2. The best action that can run now, if it is worth more than it costs: research and other work beside the way.
    3. The best of the cheapest plans for the goals, as `AStarPlanner` finds it.
    4. The best action that can run now, even if it is worth less than it costs.

    So it gathers what is worth gathering, like a `UtilityPlanner`, but then goes for the goal by any number of steps.
    For a single goal it plans as `AStarPlanner` does, for `NIRVANA` as `UtilityPlanner` does. The arguments and
    exceptions are the same as of `AStarPlanner`.
    """

    @override
    def continue_plan(
        self, plan: Plan, before: WorldState, world: WorldState, actions: tuple[Action, ...]
    ) -> Plan | None:
        return None  # an action that is worth while may have become possible, and comes first

    def _plan(self, session: Session, goal: Goal) -> Inquiry[Plan | None]:
        return best_now(session, (NIRVANA,)) if goal == NIRVANA else plan_for(session, goal)

    def _best(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[Plan | None]:
        return (
            (yield from find_reached(session, goals))
            or (yield from best_now(session, (NIRVANA,), above=0.0))
            or (yield from best_plan(session, real(goals)))
            or (yield from best_now(session, (NIRVANA,)))
        )

    def _plans(self, session: Session, goals: tuple[Goal, ...]) -> Inquiry[list[Plan]]:
        plans = yield from plans_for(session, [plan_for(session, goal) for goal in real(goals)])
        action = yield from best_now(session, (NIRVANA,))
        return sorted([*plans, *([action] if action else [])], key=_rank)

    def _obstacle(self, session: Session, goal: Goal) -> Explanation:
        if goal == NIRVANA:
            from tactician.planning.explanation import explain_idle

            return explain_idle(session.world, session.index, goal)
        return super()._obstacle(session, goal)

    def _contrast(self, session: Session, goal: Goal, plan: Plan | None, about: Action) -> Verdict:
        if goal == NIRVANA:
            from tactician.planning.contrast import compare

            return compare(session, goal, plan, about)
        return super()._contrast(session, goal, plan, about)


def _rank(plan: Plan) -> int:
    """Return the rank of the plan in the order of `HybridPlanner`."""
    if not plan.actions:
        return 1
    if plan.goal != NIRVANA:
        return 3
    return 2 if round_amount(plan.net_value) > 0 else 4
