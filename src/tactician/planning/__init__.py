"""Planning without LLMs: conditions, actions and goals in; the cheapest plan out."""

from tactician.planning.errors import SearchLimitExceeded
from tactician.planning.explanation import Explanation, Obstacle
from tactician.planning.model import Action, Amount, Goal, Plan
from tactician.planning.planner import AStarPlanner
from tactician.planning.session import Determine
from tactician.planning.world import UNKNOWN, ConditionValue, Unknown, WorldState

__all__ = [
    "UNKNOWN",
    "AStarPlanner",
    "Action",
    "Amount",
    "ConditionValue",
    "Determine",
    "Explanation",
    "Goal",
    "Obstacle",
    "Plan",
    "SearchLimitExceeded",
    "Unknown",
    "WorldState",
]
