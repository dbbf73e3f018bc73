"""A* over sets of facts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from tactician.planning.landmarks import Estimate, Landmark, LandmarkFinder
from tactician.planning.masks import Masks
from tactician.planning.stubborn import StubbornSets


class ExpansionLimitError(Exception):
    """The search stopped at its limit; `steps` lead to the state that looked nearest to the goal."""

    def __init__(self, expansions: int, steps: list[int]) -> None:
        super().__init__(expansions)
        self.expansions = expansions
        self.steps = steps


@dataclass(slots=True)
class _Node:
    """A state and how it was found. `landmarks` are those of its parent; `forced` if its parent has no other child."""

    state: int
    weight: int
    step: int = -1
    parent: _Node | None = None
    landmarks: tuple[Landmark, ...] = ()
    forced: bool = False
    estimate: Estimate | None = None

    def inherited(self) -> tuple[Landmark, ...]:
        """The parent's landmarks that the step to this node leaves standing."""
        return tuple(landmark for landmark in self.landmarks if self.step not in landmark.members)

    def path(self) -> list[int]:
        """The steps from the start to this node."""
        steps, node = [], self
        while node.parent is not None:
            steps.append(node.step)
            node = node.parent
        return steps[::-1]


class Search:
    """One search for the plan of least weight.

    A node is estimated when it is taken from the queue, not when it is found; until then it has the bound its parent
    leaves it. A forced step that the bound had foreseen teaches nothing new, so the node after it makes do with that.
    Bounds found on different paths differ, so a state is opened again when a lighter path to it is found.
    """

    def __init__(self, masks: Masks, weights: Sequence[int], max_expansions: int) -> None:
        """Prepare to search among these actions."""
        self._masks = masks
        self._weights = weights
        self._max_expansions = max_expansions
        self._finder = LandmarkFinder(masks, weights)
        self._stubborn = StubbornSets(masks)
        self._queue: list[tuple[int, int, int, _Node]] = []
        self._found = count()
        self._lightest: dict[int, int] = {}

    def run(self, start: int) -> list[int] | None:
        """The steps of a plan of least weight, or None if there is no plan.

        Raises:
            ExpansionLimitError: the limit was reached first
        """
        self._push(_Node(start, 0), bound=0)
        nearest: tuple[int, _Node] | None = None
        expansions = 0
        while self._queue:
            total, bound, _, node = heapq.heappop(self._queue)
            if not self._masks.goal & ~node.state:
                return node.path()
            estimate = self._estimate(node, total) if node.weight == self._lightest[node.state] else None
            if estimate is None:
                continue
            if nearest is None or bound < nearest[0]:
                nearest = bound, node
            if expansions == self._max_expansions:
                raise ExpansionLimitError(expansions, nearest[1].path())
            expansions += 1
            self._expand(node, estimate)
        return None

    def _estimate(self, node: _Node, total: int) -> Estimate | None:
        """The estimate of the node; None if it leads nowhere, or has to wait for nodes that now look lighter."""
        if node.estimate is None:
            landmarks = node.inherited()
            if node.forced and landmarks:
                return self._finder.carry_over(landmarks)
            node.estimate = self._finder.estimate(node.state, landmarks)
            if node.estimate is not None and node.weight + node.estimate.bound > total:
                self._push(node, node.estimate.bound)
                return None
        return node.estimate

    def _expand(self, node: _Node, estimate: Estimate) -> None:
        node.estimate = None  # a long search holds many expanded nodes
        steps = [
            step
            for step in self._stubborn.successors(node.state, estimate.landmarks)
            if self._masks.adds[step] & ~node.state
        ]
        for step in steps:
            weight = node.weight + self._weights[step]
            state = self._masks.after(node.state, step)
            if weight < self._lightest.get(state, weight + 1):
                unpaid = estimate.residual[step]
                child = _Node(state, weight, step, node, estimate.landmarks, len(steps) == 1 and not unpaid)
                # The child no longer owes what landmarks had accounted for of the step's weight.
                bound = estimate.bound - self._weights[step] + unpaid
                self._push(child, bound if self._masks.goal & ~state else 0)

    def _push(self, node: _Node, bound: int) -> None:
        self._lightest[node.state] = node.weight
        heapq.heappush(self._queue, (node.weight + bound, bound, next(self._found), node))
