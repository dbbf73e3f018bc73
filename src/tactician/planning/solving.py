"""The way from a problem and a start to the steps of the best plan."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning.forced import forced_plan
from tactician.planning.masks import Masks
from tactician.planning.preference import canonical_order, exchange
from tactician.planning.problem import PlanningProblem
from tactician.planning.reduction import undominated
from tactician.planning.search import ExpansionLimitError, Search


def solve(problem: PlanningProblem, weights: Sequence[int], start: int, max_expansions: int) -> list[int] | None:
    """The preferred one of the plans of least weight, or None if there is no plan.

    Raises:
        ExpansionLimitError: the limit was reached first
    """
    masks = problem.masks
    if not masks.goal & ~start:
        return []
    usable = [not enabler & ~start for enabler in problem.enablers]
    steps = forced_plan(masks, weights, usable, start)
    if steps is None:
        found = _search(masks, weights, usable, start, max_expansions)
        if found is None:
            return None
        steps = canonical_order(masks, start, found)
    preferred = exchange(problem, weights, usable, start, steps) if problem.contested else steps
    return steps if preferred is steps else canonical_order(masks, start, preferred)


def _search(
    masks: Masks, weights: Sequence[int], usable: Sequence[bool], start: int, max_expansions: int
) -> list[int] | None:
    numbers = _candidates(masks, weights, usable, start)
    if numbers is None:
        return None
    search = Search(masks.only(numbers), [weights[number] for number in numbers], max_expansions)
    try:
        found = search.run(start)
    except ExpansionLimitError as limit:
        raise ExpansionLimitError(limit.expansions, [numbers[step] for step in limit.steps]) from None
    return None if found is None else [numbers[step] for step in found]


def _candidates(masks: Masks, weights: Sequence[int], usable: Sequence[bool], start: int) -> list[int] | None:
    """The actions worth searching among, or None if they cannot reach the goal even if nothing were ever undone."""
    idle = [not (enabled and adds) for enabled, adds in zip(usable, masks.adds, strict=True)]
    reached = masks.spread(start, range(len(idle)), idle)
    if masks.goal & ~reached:
        return None
    candidates = {n for n, need in enumerate(masks.needs) if not idle[n] and not need & ~reached}
    kept = set(candidates)
    for achievers in masks.achievers.values():
        rivals = [number for number in achievers if number in candidates]
        if len(rivals) > 1:
            kept -= set(rivals).difference(undominated(masks, weights, rivals))
    return sorted(kept)
