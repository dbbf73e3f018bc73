"""The order of facts, in which landmarks are looked for: the order that raises the bound most.

Where an action needs several missing facts, a landmark is sought behind the fact of the lowest bit. LM-cut
takes the fact that is hardest to reach (h-max), state by state; here the facts are numbered so, once for a problem.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from heapq import heappop, heappush

from tactician.planning.landmarks import LandmarkFinder
from tactician.planning.masks import Masks, bits_of
from tactician.planning.search import STEP_BITS


def find_best_numbering(masks: Masks, weights: Sequence[int], start: int) -> Generator[None, None, tuple[Masks, int]]:
    """Return the same actions and start with the facts in that order, of three, which raises the bound most.

    Halt once in a while, as a large problem takes tens of milliseconds.
    """
    heights = _measure_heights(masks, weights, start)
    highest_first = sorted(heights, key=lambda fact: (-heights[fact], fact))
    yield
    best, least = (masks, start), _estimate_bound(masks, weights, start)
    for order in (highest_first, highest_first[::-1]):
        yield
        renumbered = _renumber(masks, start, order)
        yield
        bound = _estimate_bound(renumbered[0], weights, renumbered[1])
        if bound > least:
            best, least = renumbered, bound
    return best


def _estimate_bound(masks: Masks, weights: Sequence[int], start: int) -> int:
    estimate = LandmarkFinder(masks, weights).estimate(start, ())
    return -1 if estimate is None else estimate.bound >> STEP_BITS


def _measure_heights(masks: Masks, weights: Sequence[int], start: int) -> dict[int, int]:
    """Return the weight of the heaviest chain that leads to each fact, by the lightest ways (h-max)."""
    heights: dict[int, int] = {}
    missing = [need.bit_count() for need in masks.needs]
    queue = [(0, fact) for fact in bits_of(start)]
    for action, count in enumerate(missing):
        if not count:
            queue += [(weights[action], fact) for fact in bits_of(masks.adds[action])]
    queue.sort()
    while queue:
        height, fact = heappop(queue)
        if fact not in heights:
            heights[fact] = height
            for action in masks.needers.get(fact, ()):
                missing[action] -= 1
                if not missing[action]:
                    for added in bits_of(masks.adds[action]):
                        heappush(queue, (height + weights[action], added))
    return heights


def _renumber(masks: Masks, start: int, order: Sequence[int]) -> tuple[Masks, int]:
    new = {fact: 1 << position for position, fact in enumerate(order)}

    def translate(mask: int) -> int:
        return sum([new.get(bit, 0) for bit in bits_of(mask)])

    needs, adds, deletes = ([*map(translate, column)] for column in (masks.needs, masks.adds, masks.deletes))
    return Masks.of(translate(masks.goal), needs, adds, deletes), translate(start)
