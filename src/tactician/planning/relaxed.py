"""Distance of a state from the goal if no effect were ever undone: the FF heuristic, and the actions that it prefers.

After Hoffmann & Nebel, "The FF planning system" (JAIR 2001), with the cheapest supporters of Keyder & Geffner,
"Heuristics for planning with action costs revisited" (ECAI 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from tactician.planning.masks import Masks, bits_of


class RelaxedPlan(NamedTuple):
    """Cost of the actions of a plan without deletes, and the actions among them that can run now."""

    cost: float
    preferred: tuple[int, ...]


class RelaxedPlanner:
    """Finder of relaxed plans from the states of a problem."""

    def __init__(self, masks: Masks, costs: Sequence[float]) -> None:
        """Prepare for any number of states."""
        facts = sorted({*masks.achievers, *masks.needers, *bits_of(masks.goal)})
        position = {bit: number for number, bit in enumerate(facts)}
        self._masks = masks
        self._costs = costs
        self._position = position
        # Tuples of numbers are nothing that the garbage collector has to look at again and again.
        self._needs = [tuple([position[bit] for bit in bits_of(need)]) for need in masks.needs]
        self._adds = [tuple([position[bit] for bit in bits_of(add)]) for add in masks.adds]
        self._counts = [len(needs) for needs in self._needs]
        self._needers = [masks.needers.get(bit, ()) for bit in facts]
        self._free = [action for action, count in enumerate(self._counts) if not count]
        self._goal = [position[bit] for bit in bits_of(masks.goal)]
        self._facts = sum(position)

    def find(self, state: int) -> RelaxedPlan | None:
        """Return a cheap relaxed plan from the state, or `None`, which proves that no plan exists."""
        supporter = self._find_supporters(state)
        return None if supporter is None else self._extract(state, supporter)

    def _find_supporters(self, state: int) -> list[int] | None:
        """Return for each fact the action by which it is reached most cheaply: -1 if it holds."""
        infinite = float("inf")
        reached = [infinite] * len(self._position)
        supporter = [-1] * len(self._position)
        waits_for, price = self._counts.copy(), list(self._costs)
        position, needers, adds = self._position, self._needers, self._adds
        queue: list[tuple[float, int]] = []
        for bit in bits_of(state & self._facts):
            fact = position[bit]
            reached[fact] = 0.0
            queue.append((0.0, fact))
        queue.sort()
        for action in self._free:
            self._reach(action, price[action], reached, supporter, queue)
        missing = sum(1 for fact in self._goal if reached[fact])
        goal = set(self._goal)
        while queue and missing:
            cost, fact = heappop(queue)
            if cost > reached[fact]:
                continue
            if cost and fact in goal:
                missing -= 1
            for action in needers[fact]:
                price[action] += cost
                waits_for[action] -= 1
                if not waits_for[action]:
                    total = price[action]
                    for added in adds[action]:
                        if total < reached[added]:
                            reached[added] = total
                            supporter[added] = action
                            heappush(queue, (total, added))
        return None if missing else supporter

    def _reach(
        self, action: int, price: float, reached: list[float], supporter: list[int], queue: list[tuple[float, int]]
    ) -> None:
        for fact in self._adds[action]:
            if price < reached[fact]:
                reached[fact] = price
                supporter[fact] = action
                heappush(queue, (price, fact))

    def _extract(self, state: int, supporter: Sequence[int]) -> RelaxedPlan:
        chosen: dict[int, None] = {}
        waiting = list(self._goal)
        seen = set(waiting)
        while waiting:
            action = supporter[waiting.pop()]
            if action >= 0 and action not in chosen:
                chosen[action] = None
                fresh = [fact for fact in self._needs[action] if fact not in seen]
                seen.update(fresh)
                waiting.extend(fresh)
        needs = self._masks.needs
        runnable = tuple(action for action in chosen if not needs[action] & ~state)
        return RelaxedPlan(sum(self._costs[action] for action in chosen), runnable)
