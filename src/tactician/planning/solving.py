"""The way from a problem and a start to the steps of the best plan."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from math import gcd

from tactician.frozen import frozen
from tactician.planning.anytime import AnytimeSearch, SearchOutcome
from tactician.planning.budget import Limit, PlanningMeter
from tactician.planning.forced import find_forced_plan, find_undominated
from tactician.planning.masks import Masks
from tactician.planning.preference import canonical_order, exchange
from tactician.planning.problem import COST_BITS, PlanningProblem
from tactician.planning.search import STEP_BITS
from tactician.planning.search_trace import SearchMilestone


@frozen
class Solution:
    """The preferred plan of the best plans, or None.

    Attributes:
        steps: the numbers of its actions
        bound: the least cost that a plan can have, in billionths; None for the cost of this plan
        limit: the limit that ended the search; None if there is no better plan
        nearest: the steps to the state that looked nearest to the goal
        milestones: course of the bound and of the best plan until they met
    """

    steps: list[int] | None
    bound: int | None = None
    limit: Limit | None = None
    nearest: Sequence[int] = ()
    milestones: tuple[SearchMilestone, ...] = ()


def solve(
    problem: PlanningProblem, weights: Sequence[int], start: int, meter: PlanningMeter, known: list[int] | None = None
) -> Generator[None, None, Solution]:
    """Find the preferred plan of least weight, or the best that the meter leaves room for.

    It halts after each state that is explored. `known` are the steps of a plan to begin with.
    """
    masks = problem.masks
    # First the answers that need no search, in the order of their price: most plans of agents end here or in the next
    # lines.
    if not masks.goal & ~start:
        return Solution([])
    usable = [not enabler & ~start for enabler in problem.enablers]
    steps = find_forced_plan(masks, weights, usable, start)
    solution = Solution(steps)
    if steps is None:
        solution = yield from _search(masks, weights, usable, start, meter, known)
        if solution.steps is None:
            return solution
        # The search ends at the least cost, so its plan may still have steps that are free and not needed.
        steps = canonical_order(masks, start, _shorten(masks, start, solution.steps))
    # Preferences only choose among the cheapest plans, so they wait until the plan is known to be one.
    if problem.contested and solution.limit is None:
        preferred = yield from exchange(problem, weights, usable, start, steps, meter)
        steps = steps if preferred is steps else canonical_order(masks, start, preferred)
    return replace(solution, steps=steps)


def _search(
    masks: Masks,
    weights: Sequence[int],
    usable: Sequence[bool],
    start: int,
    meter: PlanningMeter,
    known: list[int] | None,
) -> Generator[None, None, Solution]:
    yield
    numbers = _candidates(masks, weights, usable, start)
    if numbers is None:
        return Solution(None)
    yield
    unit, scaled = _scale([weights[number] for number in numbers])
    positions = {number: position for position, number in enumerate(numbers)}
    # A known plan with an action that was left out as dominated cannot be walked in the numbers of this search.
    begun = [positions[step] for step in known] if known and all(step in positions for step in known) else None
    result = yield from AnytimeSearch(masks.only(numbers), scaled, start, meter).run(begun)
    return _translate(result, numbers, unit)


def _translate(result: SearchOutcome, numbers: Sequence[int], unit: int) -> Solution:
    """Return the outcome in the numbers and costs of the problem."""
    return Solution(
        None if result.steps is None else [numbers[step] for step in result.steps],
        result.bound * unit if result.limit else None,
        result.limit,
        [numbers[step] for step in result.nearest],
        tuple(
            replace(
                milestone, bound=milestone.bound * unit, cost=None if milestone.cost is None else milestone.cost * unit
            )
            for milestone in result.milestones
        ),
    )


def _scale(weights: Sequence[int]) -> tuple[int, list[int]]:
    """Return the unit of which all costs are multiples, and the weights in it: small numbers are added faster."""
    costs = [weight >> COST_BITS for weight in weights]
    unit = gcd(*costs) or 1
    return unit, [(cost // unit << STEP_BITS) + 1 for cost in costs]


def _shorten(masks: Masks, start: int, steps: list[int]) -> list[int]:
    """Leave out the steps without which the others work."""
    position = 0
    while position < len(steps):
        fewer = steps[:position] + steps[position + 1 :]
        if masks.run(start, fewer):
            steps = fewer
        else:
            position += 1
    return steps


def _candidates(masks: Masks, weights: Sequence[int], usable: Sequence[bool], start: int) -> list[int] | None:
    """Return the actions worth searching, or None if they cannot reach the goal even if no effect were ever undone."""
    idle = [not (enabled and adds) for enabled, adds in zip(usable, masks.adds, strict=True)]
    reached = masks.spread(start, range(len(idle)), idle)
    # Not even without deletes: a proof that costs one pass, where the search would have to exhaust all states.
    if masks.goal & ~reached:
        return None
    candidates = {n for n, need in enumerate(masks.needs) if not idle[n] and not need & ~reached}
    remaining = set(candidates)
    for achievers in masks.achievers.values():
        rivals = [number for number in achievers if number in candidates]
        if len(rivals) > 1:
            # After the reachable set is known: only actions that can run may displace others.
            remaining -= set(rivals).difference(find_undominated(masks, weights, rivals))
    return sorted(remaining)
