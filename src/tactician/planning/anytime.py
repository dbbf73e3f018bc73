"""The course of a search: some plan soon, better ones with time, and a proof in the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

from tactician.planning.budget import Limit, Meter
from tactician.planning.greedy import GreedySearch, guess_by_relaxed_plan, guess_by_subgoals
from tactician.planning.masks import Masks
from tactician.planning.search import STEP_BITS, Search

_PROBE: Final = 6400
"""After so many states, times actions, a problem counts as hard."""
_PROBED: Final = range(8, 65)
"""At least and at most so many states are explored before."""
_FIRST_ROUND: Final = 256
_CAREFUL: Final = 16
_QUICK: Final = 256
"""States that greedy searches explore in turn, so that they take about the same time."""
_TIDYING: Final = 64
"""States that are explored to find a plan that costs the same in fewer steps."""
_HASTE: Final = ((3, 2), (6, 5))


@dataclass(frozen=True, slots=True)
class Milestone:
    """A change of what is known: after how many states and seconds, the least cost possible, and that of the plan."""

    expansions: int
    seconds: float
    bound: int
    cost: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a search: the best plan, the least cost a plan can have, and the limit that ended it, if any."""

    steps: list[int] | None
    bound: int
    limit: Limit | None
    nearest: list[int]
    milestones: tuple[Milestone, ...]


class AnytimeSearch:
    """One search that has a plan before it knows that none is better.

    A* comes first, as most problems are small. Then a greedy search finds a plan. From then on A* raises the least cost
    that a plan can have, and in turn with it a hasty search finds better plans among the same states.
    """

    def __init__(self, masks: Masks, weights: Sequence[int], start: int, meter: Meter) -> None:
        """Prepare to search from a state."""
        self._masks = masks
        self._weights = weights
        self._start = start
        self._meter = meter
        self._search = Search(masks, weights, start)
        self._greedy: list[GreedySearch] = []
        self._limit: Limit | None = None
        self._milestones: list[Milestone] = []

    def run(self, known: list[int] | None = None) -> Generator[None, None, Found]:
        """Search, and halt after each state.

        Args:
            known: a plan to begin with
        """
        search = self._search
        if known is not None:
            search.offer(known)
        probe = _PROBE // (1 + len(self._weights))
        yield from self._explore(min(max(probe, _PROBED.start), _PROBED.stop - 1))
        if search.best is None and not self._is_done():
            yield from self._find_any()
        states = _FIRST_ROUND
        while not self._is_done():
            for haste in _HASTE if states == _FIRST_ROUND else _HASTE[1:]:
                if not self._is_done():
                    search.hasten(*haste)
                    yield from self._explore(states, hasty=True)
            yield from self._explore(4 * states)
            states *= 2
        if self._limit is None:
            yield from self._tidy()
        self._note()
        return Found(search.best, search.bound, self._limit, search.nearest, tuple(self._milestones))

    def _is_done(self) -> bool:
        return self._limit is not None or self._search.is_cheapest or self._search.is_exhausted

    def _explore(self, states: int, *, hasty: bool = False) -> Generator[None, None, None]:
        """Explore so many states; a hasty search ends with the first better plan."""
        search, weight = self._search, self._search.weight
        for _ in range(states):
            if self._is_done() or not self._may_go_on() or (hasty and search.weight != weight):
                return
            search.explore_next(hasty=hasty)
            self._note()
            yield

    def _find_any(self) -> Generator[None, None, None]:
        """Find a plan greedily, in two ways; in turn with them, A* may be the first to know that there is none."""
        masks, start = self._masks, self._start
        careful, quick = guess_by_relaxed_plan(masks, _even_out(self._weights)), guess_by_subgoals(masks, start)
        self._greedy = [GreedySearch(masks, start, [careful, quick]), GreedySearch(masks, start, [quick])]
        while self._search.best is None and not self._is_done():
            for greedy, states in zip(self._greedy, (_CAREFUL, _QUICK), strict=True):
                yield from self._explore_greedily(greedy, states)
            if not self._is_done():
                yield from self._explore(1)
        self._greedy = []

    def _explore_greedily(self, greedy: GreedySearch, states: int) -> Generator[None, None, None]:
        for _ in range(states):
            if self._search.best is not None or self._is_done() or not self._may_go_on():
                return
            greedy.explore_next()
            if greedy.steps is not None:
                self._search.offer(greedy.steps)
                self._note()
            elif greedy.is_exhausted:
                self._search.give_up()
            yield

    def _tidy(self) -> Generator[None, None, None]:
        for _ in range(_TIDYING):
            if self._search.is_exhausted:
                break
            self._search.explore_next()
            yield

    def _may_go_on(self) -> bool:
        """Count one more state, unless a limit is reached."""
        self._limit = self._meter.find_limit(self._search.held + sum(greedy.held for greedy in self._greedy))
        self._meter.expansions += self._limit is None
        return self._limit is None

    def _note(self) -> None:
        search, meter = self._search, self._meter
        bound, cost = search.bound, None if search.weight is None else search.weight >> STEP_BITS
        if not self._milestones or (self._milestones[-1].bound, self._milestones[-1].cost) != (bound, cost):
            self._milestones.append(Milestone(meter.expansions, meter.seconds, bound, cost))


def _even_out(weights: Sequence[int]) -> list[float]:
    """Return costs in which a step counts as much as the mean cost: a plan should be cheap and short."""
    costs = [weight >> STEP_BITS for weight in weights]
    mean = sum(costs) / len(costs) if costs else 0.0
    return [1.0 + (cost / mean if mean else 0.0) for cost in costs]
