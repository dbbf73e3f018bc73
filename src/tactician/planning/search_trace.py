"""The course of a search: how the best plan and the least cost possible met."""

from __future__ import annotations

from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.planning.model import Plan


@frozen
class SearchMilestone:
    """State of knowledge at a moment of a search.

    Attributes:
        expansions: number of states explored by then
        seconds: time spent by then
        bound: least cost that a plan can have
        cost: cost of the best plan by then, if any
    """

    expansions: int
    seconds: float
    bound: float
    cost: float | None


@frozen
class SearchTrace:
    """A plan, and the milestones of the search for it; none where no search was needed."""

    plan: Plan | None
    milestones: tuple[SearchMilestone, ...]

    def __str__(self) -> str:
        return "\n".join(map(_describe, self.milestones)) or "no search was needed"


def _describe(milestone: SearchMilestone) -> str:
    outcome = "no plan yet" if milestone.cost is None else f"a plan costs {milestone.cost:g}"
    when = f"after {format_count(milestone.expansions, 'state')} ({milestone.seconds * 1000:.1f} ms)"
    return f"{when}: {outcome}, none costs less than {milestone.bound:g}"
