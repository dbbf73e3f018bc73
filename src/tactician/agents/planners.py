"""The ways of planning that an agent can be declared with."""

from __future__ import annotations

from enum import StrEnum

from tactician.planning import AStarPlanner, HybridPlanner, UtilityPlanner
from tactician.planning import Planner as PlannerProtocol


class Planner(StrEnum):
    """How an agent chooses its actions."""

    GOAP = "goap"
    """Plans the cheapest way to its best goal."""
    UTILITY = "utility"
    """Runs whatever is worth most now, as long as there is anything to run, or until a goal is reached."""
    HYBRID = "hybrid"
    """Runs what is worth more than it costs, and goes for its best goal by any number of steps."""
    SUPERVISOR = "supervisor"
    """Lets a model choose."""

    def build(self) -> PlannerProtocol:
        """A planner that works like this."""
        if self is Planner.UTILITY:
            return UtilityPlanner()
        return HybridPlanner() if self is Planner.HYBRID else AStarPlanner()
