"""A* over sets of facts."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence
from typing import Final

from tactician.planning.landmarks import Estimate, LandmarkFinder
from tactician.planning.masks import Masks
from tactician.planning.stubborn import StubbornSets
from tactician.planning.symmetry import Symmetries

STEP_BITS: Final = 20
"""A weight is a cost in its higher bits, and a step: plans of a million steps are out of reach."""
_BYTES_A_NODE: Final = 330
_BYTES_A_LANDMARK: Final = 8


_FORCED: Final = 1
_ESTIMATED: Final = 2
_EXPANDED: Final = 4
_NODE_BITS: Final = 32
_NODES: Final = (1 << _NODE_BITS) - 1


class _Nodes:
    """States and the paths to them, in columns: so many objects would keep the garbage collector busy.

    `keys` are what symmetric states have in common: the states themselves where there are no symmetries. `bounds` are
    what a plan from a node weighs at least. Until a node is estimated, its landmarks are those of its parent. Flags are
    `_FORCED` if its parent has no other child, `_ESTIMATED` and `_EXPANDED`.
    """

    __slots__ = ("bounds", "flags", "keys", "landmarks", "parents", "states", "steps", "weights")

    def __init__(self, symmetries: Symmetries | None) -> None:
        self.states: list[int] = []
        self.keys = self.states if symmetries is None else list[int]()
        self.weights: list[int] = []
        self.bounds: list[int] = []
        self.steps = array("i")
        self.parents = array("i")
        self.landmarks: list[tuple[int, ...]] = []
        self.flags = bytearray()

    def add(
        self,
        state: int,
        key: int,
        weight: int,
        bound: int,
        step: int,
        parent: int,
        landmarks: tuple[int, ...],
        flags: int,
    ) -> int:
        """Add a node, and return its number."""
        self.states.append(state)
        if self.keys is not self.states:
            self.keys.append(key)
        self.weights.append(weight)
        self.bounds.append(bound)
        self.steps.append(step)
        self.parents.append(parent)
        self.landmarks.append(landmarks)
        self.flags.append(flags)
        return len(self.flags) - 1

    def path(self, node: int) -> list[int]:
        """Return the steps from the start to a node."""
        steps = []
        while self.parents[node] >= 0:
            steps.append(self.steps[node])
            node = self.parents[node]
        return steps[::-1]


class Search:
    """Search for the plan of least weight.

    A node is estimated when it is taken from a queue, not when it is reached; until then it has the bound its parent
    leaves it. A forced step that the bound had foreseen teaches nothing new, so the node after it makes do with that.
    Bounds from different paths differ, so a state is opened again when a lighter path leads to it.

    Nodes are ordered by cost alone, so that no proof is needed of which of the cheapest plans has the fewest steps;
    of nodes that cost the same, the node that looks nearest to the goal comes first. Bounds and paths are compared by
    their weights, in which each step counts: else a free detour would be as good as none, and stubborn sets, which keep
    only some of the lightest plans, would be unsound.

    Two queues hold the same nodes. That of A* has the least bound on top; the hasty queue, there only while there is
    haste, counts the way to go for more than the way so far.

    Attributes:
        best: the steps of the lightest plan so far, if any
        weight: what it weighs
    """

    def __init__(
        self,
        masks: Masks,
        weights: Sequence[int],
        start: int,
        least: int = 0,
        symmetries: Symmetries | None = None,
    ) -> None:
        """Prepare to search among these actions; `least` is what a plan is known to cost at least."""
        self.best: list[int] | None = None
        self.weight: int | None = None
        self._masks = masks
        self._weights = weights
        self._finder = LandmarkFinder(masks, weights)
        self._stubborn = StubbornSets(masks)
        self._bound_bits = sum(weights).bit_length()  # landmarks share the weights out, so no bound is above their sum
        self._bounds = (1 << self._bound_bits) - 1
        self._queue: list[int] = []
        self._hasty: list[int] = []
        self._haste: tuple[int, int] | None = None
        self._nodes = _Nodes(symmetries)
        self._landmarks = 0
        self._recent: tuple[int, Estimate] | None = None
        self._symmetries = symmetries
        key = start if symmetries is None else symmetries.find_representative(start)
        self._lightest = {key: 0}
        self._least = least
        self._nearest = self._nodes.add(start, key, 0, 0, -1, -1, (), 0)
        self._push(self._nearest)

    @property
    def bound(self) -> int:
        """The least cost that a plan can have, as far as is known."""
        self._drop_stale()
        if self._queue:
            self._least = max(self._least, self._queue[0] >> _NODE_BITS + self._bound_bits)
        elif self.weight is not None:
            self._least = self.weight >> STEP_BITS
        return self._least if self.weight is None else min(self._least, self.weight >> STEP_BITS)

    @property
    def is_exhausted(self) -> bool:
        """True when nothing is left that could be lighter than the best plan, or lead to such a plan."""
        self._drop_stale()
        return not self._queue

    @property
    def is_cheapest(self) -> bool:
        """True when no plan can cost less than the best; another could have fewer steps."""
        return self.weight is not None and self.bound == self.weight >> STEP_BITS

    @property
    def held(self) -> int:
        """Bytes that the search holds, as estimated."""
        return len(self._nodes.flags) * _BYTES_A_NODE + self._landmarks * _BYTES_A_LANDMARK + self._finder.held

    @property
    def nearest(self) -> list[int]:
        """The steps to the state that looked nearest to the goal."""
        return self._nodes.path(self._nearest)

    def offer(self, steps: list[int]) -> bool:
        """Take a plan that works as the best plan, if it is lighter."""
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
        """Until `end_haste`, let the hasty queue count the way to go by this factor."""
        self._haste = numerator, denominator
        flags = self._nodes.flags
        nodes = dict.fromkeys([node for entry in self._queue if not flags[node := entry & _NODES] & _EXPANDED])
        self._hasty = list(map(self._to_hasty, nodes))
        heapq.heapify(self._hasty)

    def end_haste(self) -> None:
        """Do without the hasty queue, which would take memory and time."""
        self._haste = None
        self._hasty = []

    def explore_next(self, *, hasty: bool = False) -> None:
        """Explore a state: that of the least bound, or the first of the hasty queue."""
        queue = self._hasty if hasty else self._queue
        nodes = self._nodes
        while queue:
            entry = heapq.heappop(queue)
            node = entry & _NODES
            if self._is_stale(node):
                continue
            if entry >> _NODE_BITS & self._bounds == nodes.bounds[node] and self._estimate(node):
                self._expand(node)
                return
            if not nodes.flags[node] & _EXPANDED:  # its bound has been raised, here or by way of the other queue
                heapq.heappush(queue, self._to_hasty(node) if hasty else self._to_entry(node))

    def _is_stale(self, node: int) -> bool:
        nodes = self._nodes
        weight = nodes.weights[node]
        if nodes.flags[node] & _EXPANDED or weight > self._lightest[nodes.keys[node]]:
            return True
        return self.weight is not None and weight + nodes.bounds[node] >= self.weight

    def _drop_stale(self) -> None:
        queue, bounds = self._queue, self._nodes.bounds
        while queue:
            entry = queue[0]
            node = entry & _NODES
            is_stale = self._is_stale(node)
            if not is_stale and entry >> _NODE_BITS & self._bounds == bounds[node]:
                return
            heapq.heappop(queue)
            if not is_stale:
                heapq.heappush(queue, self._to_entry(node))

    def _estimate(self, node: int) -> bool:
        """Estimate the node, and return whether it comes next: else it leads nowhere, or others now look lighter."""
        nodes = self._nodes
        flags = nodes.flags[node]
        if flags & _ESTIMATED:
            return True
        inherited = self._inherit_landmarks(node)
        if flags & _FORCED and inherited:
            return True
        estimate = self._finder.estimate(nodes.states[node], inherited)
        if estimate is None:
            nodes.flags[node] |= _EXPANDED
            return False
        nodes.landmarks[node] = estimate.landmarks
        nodes.flags[node] |= _ESTIMATED
        self._landmarks += len(estimate.landmarks)
        self._recent = node, estimate
        if estimate.bound > nodes.bounds[node]:
            nodes.bounds[node] = estimate.bound
            return False
        return True

    def _inherit_landmarks(self, node: int) -> tuple[int, ...]:
        """Return the known landmarks of a node: before the node is estimated, those that the step has left standing."""
        nodes = self._nodes
        if nodes.flags[node] & _ESTIMATED:
            return nodes.landmarks[node]
        return self._finder.leave_standing(nodes.landmarks[node], nodes.steps[node])

    def _expand(self, node: int) -> None:
        masks, weights, nodes, lightest = self._masks, self._weights, self._nodes, self._lightest
        symmetries = self._symmetries
        state, so_far, bound = nodes.states[node], nodes.weights[node], nodes.bounds[node]
        estimate = self._recall(node)
        nodes.flags[node] |= _EXPANDED
        nodes.landmarks[node] = ()
        if bound < nodes.bounds[self._nearest] or not self._nearest:
            self._nearest = node
        runnable = self._stubborn.successors(state, self._finder.look_up(estimate.landmarks))
        steps = [step for step in runnable if masks.adds[step] & ~state]
        for step in steps:
            weight, after = so_far + weights[step], masks.after(state, step)
            key = after if symmetries is None else symmetries.find_representative(after)
            if weight < lightest.get(key, weight + 1):
                # The child no longer owes what landmarks had accounted for of the step's weight.
                unpaid = estimate.residual[step]
                left = max(estimate.bound + unpaid, bound) - weights[step] if masks.goal & ~after else 0
                if self.weight is None or weight + left < self.weight:
                    flags = _FORCED if len(steps) == 1 and not unpaid else 0
                    self._add(nodes.add(after, key, weight, max(0, left), step, node, estimate.landmarks, flags))

    def _recall(self, node: int) -> Estimate:
        """Return the estimate of a node, computed again from its landmarks if need be: to keep it would take memory."""
        if self._recent is not None and self._recent[0] == node:
            return self._recent[1]
        return self._finder.carry_over(self._inherit_landmarks(node))

    def _add(self, node: int) -> None:
        nodes = self._nodes
        self._lightest[nodes.keys[node]] = nodes.weights[node]
        if self._masks.goal & ~nodes.states[node]:
            self._push(node)
        elif self.weight is None or nodes.weights[node] < self.weight:
            self.best, self.weight = nodes.path(node), nodes.weights[node]

    def _push(self, node: int) -> None:
        heapq.heappush(self._queue, self._to_entry(node))
        if self._haste is not None:
            heapq.heappush(self._hasty, self._to_hasty(node))

    def _to_entry(self, node: int) -> int:
        """Return the entry of a node in the queue of A*: cost, bound and node in a single small number."""
        bound = self._nodes.bounds[node]
        return self._pack(self._nodes.weights[node] + bound, bound, node)

    def _to_hasty(self, node: int) -> int:
        numerator, denominator = self._haste or (1, 1)
        bound = self._nodes.bounds[node]
        return self._pack(self._nodes.weights[node] * denominator + bound * numerator, bound, node)

    def _pack(self, weight: int, bound: int, node: int) -> int:
        return (weight >> STEP_BITS << self._bound_bits | bound) << _NODE_BITS | node
