"""What can go wrong while planning."""

from __future__ import annotations

from tactician.planning.model import Action, Goal


class SearchLimitExceeded(Exception):  # noqa: N818 - it is a limit, not a mistake
    """The search gave up before it knew whether there is a plan, or which one is best.

    Attributes:
        goal: what was to be reached
        expansions: how many states were explored
        closest: the actions that lead to the explored state that looked nearest to the goal
    """

    def __init__(self, goal: Goal, expansions: int, closest: tuple[Action, ...]) -> None:
        """Say what was tried."""
        self.goal = goal
        self.expansions = expansions
        self.closest = closest
        tried = " -> ".join(action.name for action in closest) or "the start itself"
        super().__init__(
            f"No answer for goal {goal.name!r} after exploring {expansions} states; the nearest was reached by: {tried}"
        )
