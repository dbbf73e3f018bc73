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

from tactician.planning.astar import AStarPlanner
from tactician.planning.budget import DEFAULT_PLANNING, PlanningBudget
from tactician.planning.consultation import Consultation
from tactician.planning.errors import SearchLimitExceeded
from tactician.planning.explanation import Explanation, Obstacle
from tactician.planning.hybrid import HybridPlanner
from tactician.planning.inquiry import Determine
from tactician.planning.model import NIRVANA, Action, Amount, Goal, Plan
from tactician.planning.planner import PlanningAlgorithm
from tactician.planning.search_trace import SearchMilestone, SearchTrace
from tactician.planning.utility import UtilityPlanner
from tactician.planning.verdict import Reason, Verdict
from tactician.planning.world import UNKNOWN, ConditionValue, Unknown, WorldState

__all__ = [
    "DEFAULT_PLANNING",
    "NIRVANA",
    "UNKNOWN",
    "AStarPlanner",
    "Action",
    "Amount",
    "ConditionValue",
    "Consultation",
    "Determine",
    "Explanation",
    "Goal",
    "HybridPlanner",
    "Obstacle",
    "Plan",
    "PlanningAlgorithm",
    "PlanningBudget",
    "Reason",
    "SearchLimitExceeded",
    "SearchMilestone",
    "SearchTrace",
    "Unknown",
    "UtilityPlanner",
    "Verdict",
    "WorldState",
]
