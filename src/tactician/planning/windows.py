"""Better plans by windows: a part of the plan is searched anew, and what is cheaper takes its place.

Large neighbourhood search over plans, after Nakhost and Mueller, "Action elimination and plan neighborhood graph
search" (ICAPS 2010), and Siddiqui and Haslum, "Continuing plan quality optimisation" (JAIR 2015). A window may visit a
place once where the plan visits it twice. It is far smaller than the problem, so that a greedy search gets through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tactician.planning.greedy import GreedySearch, guess_by_relaxed_plan
from tactician.planning.masks import Masks

_SIZES: Final = (6, 10, 16, 24)
_HASTE: Final = (1.5, 3.0)
_STATES: Final = 100
"""States that are explored in a window: then another may be better."""


class WindowSearch:
    """Search for cheaper parts of a plan, state by state.

    Args:
        masks: the actions, and the goal.
        weights: weight of each action.
        start: the state that the plan starts in.
    """

    def __init__(self, masks: Masks, weights: Sequence[int], start: int) -> None:
        self._masks = masks
        self._weights = weights
        self._start = start
        self._costs = list(map(float, weights))
        self._draw = Random(0)  # the same plans each time
        self._plan: list[int] = []
        self._window = range(0)
        self._search: GreedySearch | None = None
        self._left = 0

    @property
    def held(self) -> int:
        """Bytes that the search holds, as estimated."""
        return 0 if self._search is None else self._search.held

    def explore_next(self, plan: list[int]) -> list[int] | None:
        """Explore a state of a window of the plan, and return a lighter plan if it leads there."""
        if plan is not self._plan or self._search is None or not self._left or self._search.is_exhausted:
            self._search = self._open(plan)
        self._left -= 1
        begin, end = self._window.start, self._window.stop
        weight = sum([self._weights[step] for step in plan[begin:end]])
        if (part := self._search.explore_next(weight)) is None:
            return None
        better = [*plan[:begin], *part, *plan[end:]]
        return better if self._masks.run(self._start, better) else None

    def _open(self, plan: list[int]) -> GreedySearch:
        """Choose a window, and search from its first state for all that the rest of the plan needs."""
        size = min(len(plan), self._draw.choice(_SIZES))
        begin = self._draw.randrange(len(plan) - size + 1)
        self._plan, self._window, self._left = plan, range(begin, begin + size), _STATES
        state = self._start
        for step in plan[:begin]:
            state = self._masks.after(state, step)
        masks = replace(self._masks, goal=self._find_needs(plan[begin + size :]))
        guess = guess_by_relaxed_plan(masks, self._costs)
        return GreedySearch(masks, self._weights, state, [guess], haste=self._draw.choice(_HASTE))

    def _find_needs(self, steps: Sequence[int]) -> int:
        """Return the facts that have to hold for the steps to run and to reach the goal."""
        needed = self._masks.goal
        for step in reversed(steps):
            needed = needed & ~self._masks.adds[step] | self._masks.needs[step]
        return needed
