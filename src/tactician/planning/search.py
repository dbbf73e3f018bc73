"""A* over sets of facts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

from tactician.planning.landmarks import Estimate, LandmarkFinder
from tactician.planning.masks import Masks
from tactician.planning.search_nodes import ESTIMATED, EXPANDED, FORCED, SearchNodes
from tactician.planning.stubborn import StubbornSets
from tactician.planning.symmetry import Symmetries

STEP_BITS: Final = 20
"""A weight is a cost in its higher bits, and a step: plans of a million steps are out of reach."""
_HASTY_NODES: Final = 4096
_BYTES_A_LANDMARK: Final = 8
_NODE_BITS: Final = 32
_NODES: Final = (1 << _NODE_BITS) - 1


class Search:
    """Search for the plan of least weight.

    A node is estimated when it is taken from a queue, not when it is reached; until then it has the bound its parent
    leaves it. A forced step that the bound had foreseen teaches nothing new, so the node after it makes do with that.
    Bounds from different paths differ, so a state is opened again when a lighter path leads to it.

    Nodes are ordered by cost alone, so that no proof is needed of which of the cheapest plans has the fewest steps;
    of nodes that cost the same, the node that looks nearest to the goal comes first. Bounds and paths are compared by
    their weights, in which each step counts: else a free detour would be as good as none, and stubborn sets, which keep
    only some of the lightest plans, would be unsound.

    Two queues hold nodes. A*'s queue holds all, with the least bound on top; the hasty one, there only while there is
    haste, holds those that come first when the way to go counts for more than the way so far.

    Attributes:
        best: the steps of the lightest plan so far, if any
        weight: the weight of these steps
    """

    def __init__(
        self,
        masks: Masks,
        weights: Sequence[int],
        start: int,
        least: int = 0,
        symmetries: Symmetries | None = None,
        earlier: Search | None = None,
    ) -> None:
        """Prepare to search.

        Args:
            masks: the actions.
            weights: weight of each of them.
            start: the state to begin in.
            least: known least cost of a plan.
            symmetries: the symmetries, if states that mirror each other are to count as the same.
            earlier: a search among the same actions, with the facts in another order.
        """
        self.best: list[int] | None = None
        self.weight: int | None = None
        self._masks = masks
        self._weights = weights
        self._finder = LandmarkFinder(masks, weights)
        self._stubborn: StubbornSets = StubbornSets(masks, earlier._stubborn if earlier else None)
        self._bound_bits = sum(weights).bit_length()  # landmarks share the weights out, so no bound is above their sum
        self._bounds = (1 << self._bound_bits) - 1
        self._queue: list[int] = []
        self._hasty: list[int] = []
        self._haste: tuple[int, int] | None = None
        self._nodes = SearchNodes(symmetries)
        self._landmarks = 0
        self._recent: tuple[int, Estimate] | None = None
        self._symmetries = symmetries
        key = start if symmetries is None else symmetries.find_representative(start)
        self._lightest = {key: 0}
        self._least = least
        self._nearest = self._nodes.add(-1, -1, 0)
        self._nodes.add_row(self._nearest, start, key, 0, 0)
        self._push(self._nearest, 0, 0)

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
        return self._nodes.held + self._landmarks * _BYTES_A_LANDMARK + self._finder.held

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
        nodes = self._nodes
        entries = (
            self._to_hasty(node, self._weigh(node), entry >> _NODE_BITS & self._bounds)
            for entry in self._queue
            if not nodes.flags[node := entry & _NODES] & EXPANDED
        )
        self._hasty = heapq.nsmallest(_HASTY_NODES, entries)  # all of them would take as much memory as the queue of A*

    def end_haste(self) -> None:
        """Do without the hasty queue, which would take memory and time."""
        self._haste = None
        self._hasty = []

    def explore_next(self, *, hasty: bool = False) -> None:
        """Explore the state with the least bound, or the first of the hasty queue."""
        queue = self._hasty if hasty else self._queue
        nodes = self._nodes
        while queue:
            entry = heapq.heappop(queue)
            node, bound = entry & _NODES, entry >> _NODE_BITS & self._bounds
            # The same state may be in both queues, and be reached again more cheaply: stale entries are dropped here,
            # not searched for in the heap.
            if (row := self._visit(node, bound)) is None:
                continue
            # Estimates are late, because many nodes never need one. A node whose estimate raises its
            # bound goes back.
            if bound == nodes.bounds[row] and self._estimate(node, row):
                self._expand(node, row)
                return
            if not nodes.flags[node] & EXPANDED:  # its bound has been raised, here or by way of the other queue
                to_entry = self._to_hasty if hasty else self._to_entry
                heapq.heappush(queue, to_entry(node, nodes.weights[row], nodes.bounds[row]))

    def _visit(self, node: int, bound: int) -> int | None:
        """Return the row of a node with this bound, `None` if it cannot lead to a lighter plan than others do."""
        nodes = self._nodes
        if nodes.flags[node] & EXPANDED:
            return None
        row = nodes.rows[node]
        if row < 0:
            return self._visit_first(node, bound)
        weight = nodes.weights[row]
        # A cheaper way to the same state was found since this entry was pushed.
        if weight > self._lightest[nodes.keys[row]]:
            return None
        return None if self.weight is not None and weight + nodes.bounds[row] >= self.weight else row

    def _visit_first(self, node: int, bound: int) -> int | None:
        nodes, weight = self._nodes, self._weigh(node)
        if self.weight is not None and weight + bound >= self.weight:
            return None
        above = nodes.rows[nodes.parents[node]]
        state = self._masks.after(nodes.states[above], nodes.steps[node])
        key = state if self._symmetries is None else self._symmetries.find_representative(state)
        if weight >= self._lightest.get(key, weight + 1):
            return None
        self._lightest[key] = weight
        return nodes.add_row(node, state, key, weight, bound, nodes.landmarks[above])

    def _weigh(self, node: int) -> int:
        """Return the weight of the way to a node."""
        nodes = self._nodes
        row = nodes.rows[node]
        if row >= 0:
            return nodes.weights[row]
        return nodes.weights[nodes.rows[nodes.parents[node]]] + self._weights[nodes.steps[node]]

    def _drop_stale(self) -> None:
        queue, nodes = self._queue, self._nodes
        while queue:
            entry = queue[0]
            node, bound = entry & _NODES, entry >> _NODE_BITS & self._bounds
            row = self._visit(node, bound)
            if row is not None and bound == nodes.bounds[row]:
                return
            heapq.heappop(queue)
            if row is not None:
                heapq.heappush(queue, self._to_entry(node, nodes.weights[row], nodes.bounds[row]))

    def _estimate(self, node: int, row: int) -> bool:
        """Estimate the node, and return whether it comes next: else it leads nowhere, or others now look lighter."""
        nodes = self._nodes
        flags = nodes.flags[node]
        if flags & ESTIMATED:
            return True
        inherited = self._inherit_landmarks(node, row)
        # Its parent had no other step, and landmarks had paid for all of that step's weight: its bound follows from
        # the parent's.
        if flags & FORCED and inherited:
            return True
        estimate = self._finder.estimate(nodes.states[row], inherited)
        # No relaxed plan exists, so no plan exists from here: the state is a dead end for good.
        if estimate is None:
            nodes.flags[node] |= EXPANDED
            return False
        nodes.landmarks[row] = estimate.landmarks
        nodes.flags[node] |= ESTIMATED
        self._landmarks += len(estimate.landmarks)
        self._recent = node, estimate
        if estimate.bound > nodes.bounds[row]:
            nodes.bounds[row] = estimate.bound
            return False
        return True

    def _inherit_landmarks(self, node: int, row: int) -> tuple[int, ...]:
        """Return the known landmarks of a node: before the node is estimated, those that the step has left standing."""
        nodes = self._nodes
        if nodes.flags[node] & ESTIMATED:
            return nodes.landmarks[row]
        return self._finder.leave_standing(nodes.landmarks[row], nodes.steps[node])

    def _expand(self, node: int, row: int) -> None:
        masks, weights, nodes, lightest = self._masks, self._weights, self._nodes, self._lightest
        symmetries = self._symmetries
        state, so_far, bound = nodes.states[row], nodes.weights[row], nodes.bounds[row]
        estimate = self._recall(node, row)
        nodes.flags[node] |= EXPANDED
        nodes.landmarks[row] = estimate.landmarks
        if bound < nodes.bounds[nodes.rows[self._nearest]] or not self._nearest:
            self._nearest = node
        steps = self._stubborn.successors(state, self._finder.look_up(estimate.landmarks))
        for step in steps:
            weight, after = so_far + weights[step], masks.after(state, step)
            key = after if symmetries is None else symmetries.find_representative(after)
            # Strictly less: of two equal ways to a state, one is enough.
            if weight < lightest.get(key, weight + 1):
                # The child no longer owes what landmarks had accounted for of the step's weight.
                unpaid = estimate.residual[step]
                left = max(estimate.bound + unpaid, bound) - weights[step] if masks.goal & ~after else 0
                # A child that cannot beat the best plan is not stored at all: memory is the limit of large searches.
                if self.weight is None or weight + left < self.weight:
                    child = nodes.add(step, node, FORCED if len(steps) == 1 and not unpaid else 0)
                    if masks.goal & ~after:
                        self._push(child, weight, max(0, left))
                    else:
                        self.best, self.weight = nodes.path(child), weight

    def _recall(self, node: int, row: int) -> Estimate:
        """Return the estimate of a node, computed again from its landmarks if need be: to keep it would take memory."""
        if self._recent is not None and self._recent[0] == node:
            return self._recent[1]
        return self._finder.carry_over(self._inherit_landmarks(node, row))

    def _push(self, node: int, weight: int, bound: int) -> None:
        heapq.heappush(self._queue, self._to_entry(node, weight, bound))
        if self._haste is not None:
            heapq.heappush(self._hasty, self._to_hasty(node, weight, bound))

    def _to_entry(self, node: int, weight: int, bound: int) -> int:
        """Return the entry of a node in the queue of A*: cost, bound and node in one number, which is small."""
        return self._pack(weight + bound, bound, node)

    def _to_hasty(self, node: int, weight: int, bound: int) -> int:
        numerator, denominator = self._haste or (1, 1)
        return self._pack(weight * denominator + bound * numerator, bound, node)

    def _pack(self, weight: int, bound: int, node: int) -> int:
        return (weight >> STEP_BITS << self._bound_bits | bound) << _NODE_BITS | node
