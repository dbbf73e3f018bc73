"""Planning without LLMs: conditions, actions and goals in; the cheapest plan out.

What the passes of the A* planner in the Embabel guide (chapter 8) are for holds here without them, as a property of
its plans:

- Backward and forward optimisation remove actions that do not help. An optimal plan has none: every action weighs
  something, a free one too (`problem.weight_of`), so a plan without that action would come first.
- Plan simulation verifies that the plan works. The search, and every exchange of steps after it, applies the same
  preconditions and effects step by step (`Masks.run`), and stops only in a state that has the goal.
- Pruning of the planning system is `prune`, and happens unasked: `index` compiles only the actions that can help a
  goal, `solving` leaves out those that cannot be reached or are never the better choice.
- Progress towards the goal is measured by landmarks, which see through chains, not by counting goal conditions.
- Unknown conditions: `pursuit` plans for any number of them and asks only for those that decide.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.planning.astar import AStarPlanner as AStarPlanner
    from tactician.planning.budget import PlanningBudget as PlanningBudget
    from tactician.planning.budget import SearchLimitExceeded as SearchLimitExceeded
    from tactician.planning.estimates import RunEstimate as RunEstimate
    from tactician.planning.forecast.objectives import Objective as Objective
    from tactician.planning.hybrid import HybridPlanner as HybridPlanner
    from tactician.planning.model import MEASURED as MEASURED
    from tactician.planning.model import Action as Action
    from tactician.planning.model import Goal as Goal
    from tactician.planning.model import Plan as Plan
    from tactician.planning.utility import UtilityPlanner as UtilityPlanner
    from tactician.planning.verdict import Verdict as Verdict
    from tactician.planning.world import UNKNOWN as UNKNOWN
    from tactician.planning.world import WorldState as WorldState
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.planning.astar": "AStarPlanner",
            "tactician.planning.budget": "PlanningBudget SearchLimitExceeded",
            "tactician.planning.estimates": "RunEstimate",
            "tactician.planning.forecast.objectives": "Objective",
            "tactician.planning.hybrid": "HybridPlanner",
            "tactician.planning.model": "MEASURED Action Goal Plan",
            "tactician.planning.utility": "UtilityPlanner",
            "tactician.planning.verdict": "Verdict",
            "tactician.planning.world": "UNKNOWN WorldState",
        },
    )
