"""A* over sets of facts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

from tactician.planning.landmarks import Estimate, Landmark, LandmarkFinder
from tactician.planning.masks import Masks
from tactician.planning.stubborn import StubbornSets

STEP_BITS: Final = 20
"""A weight is a cost in its higher bits, and a step: plans of a million steps are out of reach."""
_BYTES_A_NODE: Final = 420
_BYTES_A_LANDMARK: Final = 8


@dataclass(slots=True, eq=False)
class _Node:
    """A state and how it was found.

    `bound` is what a plan from here weighs at least. Until the node is estimated, `landmarks` are those of its parent.
    `forced` if its parent has no other child.
    """

    state: int
    weight: int
    bound: int
    step: int
    parent: _Node | None
    landmarks: tuple[Landmark, ...]
    forced: bool = False
    estimated: bool = False
    expanded: bool = False

    def inherited(self) -> tuple[Landmark, ...]:
        """The landmarks that are known of the state: before it is estimated, those that the step has left standing."""
        if self.estimated:
            return self.landmarks
        return tuple(landmark for landmark in self.landmarks if self.step not in landmark.members)

    def path(self) -> list[int]:
        """The steps from the start to this node."""
        steps, node = [], self
        while node.parent is not None:
            steps.append(node.step)
            node = node.parent
        return steps[::-1]


_Entry: TypeAlias = tuple[int, int, int, _Node]


class Search:
    """One search for the plan of least weight.

    A node is estimated when it is taken from a queue, not when it is found; until then it has the bound its parent
    leaves it. A forced step that the bound had foreseen teaches nothing new, so the node after it makes do with that.
    Bounds found on different paths differ, so a state is opened again when a lighter path to it is found.

    Nodes are ordered by cost alone, so that nobody has to prove that among the cheapest plans one has the fewest steps;
    of nodes that cost the same, the one that looks nearest to the goal comes first. Bounds and paths are compared by
    their weights, in which each step counts: else a free detour would be as good as none, and stubborn sets, which keep
    only some of the lightest plans, would be unsound.

    Two queues hold the same nodes. That of A* has the least bound on top; the hasty one, there when there is haste,
    counts the way to go for more than the way so far.

    Attributes:
        best: the steps of the lightest plan so far, if there is one
        weight: what it weighs
    """

    def __init__(self, masks: Masks, weights: Sequence[int], start: int) -> None:
        """Prepare to search among these actions."""
        self.best: list[int] | None = None
        self.weight: int | None = None
        self._masks = masks
        self._weights = weights
        self._finder = LandmarkFinder(masks, weights)
        self._stubborn = StubbornSets(masks)
        self._queue: list[_Entry] = []
        self._hasty: list[_Entry] = []
        self._haste: tuple[int, int] | None = None
        self._found = count()
        self._nodes = self._landmarks = 0
        self._recent: tuple[_Node, Estimate] | None = None
        self._lightest: dict[int, int] = {}
        self._least = 0
        self._root = self._nearest = _Node(start, 0, 0, -1, None, ())
        self._push(self._root)

    @property
    def bound(self) -> int:
        """The least cost that a plan can have, as far as is known."""
        self._drop_stale()
        if self._queue:
            self._least = max(self._least, self._queue[0][0])
        elif self.weight is not None:
            self._least = self.weight >> STEP_BITS
        return self._least if self.weight is None else min(self._least, self.weight >> STEP_BITS)

    @property
    def is_exhausted(self) -> bool:
        """True when nothing is left that could be lighter than the best plan, or lead to one."""
        self._drop_stale()
        return not self._queue

    @property
    def is_cheapest(self) -> bool:
        """True when no plan can cost less than the best one; another could have fewer steps."""
        return self.weight is not None and self.bound == self.weight >> STEP_BITS

    @property
    def held(self) -> int:
        """Bytes that the search holds, as estimated."""
        return self._nodes * _BYTES_A_NODE + self._landmarks * _BYTES_A_LANDMARK + self._finder.held

    @property
    def nearest(self) -> list[int]:
        """The steps to the state that looked nearest to the goal."""
        return self._nearest.path()

    def offer(self, steps: list[int]) -> bool:
        """Take a plan that works for the best one, if it is lighter."""
        weight = sum(self._weights[step] for step in steps)
        is_lighter = self.weight is None or weight < self.weight
        if is_lighter:
            self.best, self.weight = steps, weight
        return is_lighter

    def give_up(self) -> None:
        """Explore nothing more: there is certainly no plan."""
        self._queue.clear()
        self._hasty.clear()

    def hasten(self, numerator: int, denominator: int) -> None:
        """From now on, let the hasty queue count the way to go by this factor."""
        self._haste = numerator, denominator
        nodes = {id(node): node for *_, node in self._queue if not node.expanded}
        self._hasty = list(map(self._to_hasty, nodes.values()))
        heapq.heapify(self._hasty)

    def explore_next(self, *, hasty: bool = False) -> None:
        """Explore one state: that of the least bound, or the first one of the hasty queue."""
        queue = self._hasty if hasty else self._queue
        while queue:
            _, bound, _, node = heapq.heappop(queue)
            if self._is_stale(node):
                continue
            if bound == node.bound and self._estimate(node):
                self._expand(node)
                return
            if not node.expanded:  # its bound has been raised, here or by way of the other queue
                heapq.heappush(queue, self._to_hasty(node) if hasty else self._to_entry(node))

    def _is_stale(self, node: _Node) -> bool:
        if node.expanded or node.weight > self._lightest[node.state]:
            return True
        return self.weight is not None and node.weight + node.bound >= self.weight

    def _drop_stale(self) -> None:
        queue = self._queue
        while queue and (self._is_stale(node := queue[0][3]) or queue[0][1] < node.bound):
            heapq.heappop(queue)
            if not self._is_stale(node):
                heapq.heappush(queue, self._to_entry(node))

    def _estimate(self, node: _Node) -> bool:
        """Estimate the node, and return whether it comes next: else it leads nowhere, or others now look lighter."""
        if node.estimated:
            return True
        inherited = node.inherited()
        if node.forced and inherited:
            return True
        found = self._finder.estimate(node.state, inherited)
        if found is None:
            node.expanded = True
            return False
        node.landmarks, node.estimated = found.landmarks, True
        self._landmarks += len(found.landmarks)
        self._recent = node, found
        if found.bound > node.bound:
            node.bound = found.bound
            return False
        return True

    def _expand(self, node: _Node) -> None:
        node.expanded = True
        masks, weights = self._masks, self._weights
        if node.bound < self._nearest.bound or self._nearest is self._root:
            self._nearest = node
        estimate = self._recall(node)
        steps = [
            step for step in self._stubborn.successors(node.state, estimate.landmarks) if masks.adds[step] & ~node.state
        ]
        node.landmarks = ()
        for step in steps:
            weight = node.weight + weights[step]
            state = masks.after(node.state, step)
            if weight < self._lightest.get(state, weight + 1):
                # The child no longer owes what landmarks had accounted for of the step's weight.
                unpaid = estimate.residual[step]
                left = max(estimate.bound + unpaid, node.bound) - weights[step] if masks.goal & ~state else 0
                if self.weight is None or weight + left < self.weight:
                    forced = len(steps) == 1 and not unpaid
                    self._add(_Node(state, weight, max(0, left), step, node, estimate.landmarks, forced))

    def _recall(self, node: _Node) -> Estimate:
        """Return the estimate of a node, computed again from its landmarks if need be: to keep it would take memory."""
        if self._recent is not None and self._recent[0] is node:
            return self._recent[1]
        return self._finder.carry_over(node.inherited())

    def _add(self, node: _Node) -> None:
        self._lightest[node.state] = node.weight
        if self._masks.goal & ~node.state:
            self._push(node)
        elif self.weight is None or node.weight < self.weight:
            self.best, self.weight = node.path(), node.weight

    def _push(self, node: _Node) -> None:
        self._nodes += 1
        self._lightest[node.state] = node.weight
        heapq.heappush(self._queue, self._to_entry(node))
        if self._haste is not None:
            heapq.heappush(self._hasty, self._to_hasty(node))

    def _to_entry(self, node: _Node) -> _Entry:
        return node.weight + node.bound >> STEP_BITS, node.bound, next(self._found), node

    def _to_hasty(self, node: _Node) -> _Entry:
        numerator, denominator = self._haste or (1, 1)
        key = node.weight * denominator + node.bound * numerator >> STEP_BITS
        return key, node.bound, next(self._found), node
