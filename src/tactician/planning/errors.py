"""Errors of planning."""

from __future__ import annotations

from typing import Final

from tactician.planning.budget import Limit, PlanningBudget
from tactician.planning.model import Action, Goal

_UNITS: Final[dict[Limit, str]] = {"time": "s", "expansions": "states", "memory": "MB"}


class SearchLimitExceeded(Exception):  # noqa: N818 - it is a limit, not a mistake
    """The search gave up before it knew whether there is a plan, or which is best.

    Attributes:
        goal: the goal that was to be reached
        limit: the field of the `PlanningBudget` that was used up
        expansions: number of states that were explored
        closest: the actions that lead to the explored state that looked nearest to the goal
    """

    def __init__(
        self, goal: Goal, expansions: int, closest: tuple[Action, ...], limit: Limit, budget: PlanningBudget
    ) -> None:
        """Say what was tried, and what to set."""
        self.goal = goal
        self.limit = limit
        self.expansions = expansions
        self.closest = closest
        path = " -> ".join(action.name for action in closest) or "the start itself"
        super().__init__(
            f"No answer for goal {goal.name!r} after exploring {expansions} states: the limit of planning, {limit} ="
            f" {getattr(budget, limit)} {_UNITS[limit]}, is reached; the nearest state was reached by: {path}."
            f" Set PlanningBudget({limit}=...) higher, or `{limit}` under [planning] in tactician.toml"
        )
