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
    from tactician.planning.budget import DEFAULT_PLANNING as DEFAULT_PLANNING
    from tactician.planning.budget import PlanningBudget as PlanningBudget
    from tactician.planning.budget import SearchLimitExceeded as SearchLimitExceeded
    from tactician.planning.consultation import Consultation as Consultation
    from tactician.planning.explanation import Explanation as Explanation
    from tactician.planning.explanation import Obstacle as Obstacle
    from tactician.planning.hybrid import HybridPlanner as HybridPlanner
    from tactician.planning.inquiry import Determine as Determine
    from tactician.planning.model import NIRVANA as NIRVANA
    from tactician.planning.model import Action as Action
    from tactician.planning.model import Amount as Amount
    from tactician.planning.model import Goal as Goal
    from tactician.planning.model import Plan as Plan
    from tactician.planning.planner import PlanningAlgorithm as PlanningAlgorithm
    from tactician.planning.ruling.progress import RuleBook as RuleBook
    from tactician.planning.ruling.progress import RuleProgress as RuleProgress
    from tactician.planning.search_trace import SearchMilestone as SearchMilestone
    from tactician.planning.search_trace import SearchTrace as SearchTrace
    from tactician.planning.utility import UtilityPlanner as UtilityPlanner
    from tactician.planning.verdict import Reason as Reason
    from tactician.planning.verdict import Verdict as Verdict
    from tactician.planning.world import UNKNOWN as UNKNOWN
    from tactician.planning.world import ConditionValue as ConditionValue
    from tactician.planning.world import Unknown as Unknown
    from tactician.planning.world import WorldState as WorldState
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.planning.astar": "AStarPlanner",
            "tactician.planning.budget": "DEFAULT_PLANNING PlanningBudget SearchLimitExceeded",
            "tactician.planning.consultation": "Consultation",
            "tactician.planning.explanation": "Explanation Obstacle",
            "tactician.planning.hybrid": "HybridPlanner",
            "tactician.planning.inquiry": "Determine",
            "tactician.planning.model": "NIRVANA Action Amount Goal Plan",
            "tactician.planning.planner": "PlanningAlgorithm",
            "tactician.planning.ruling.progress": "RuleBook RuleProgress",
            "tactician.planning.search_trace": "SearchMilestone SearchTrace",
            "tactician.planning.utility": "UtilityPlanner",
            "tactician.planning.verdict": "Reason Verdict",
            "tactician.planning.world": "UNKNOWN ConditionValue Unknown WorldState",
        },
    )
