"""The course of a search: some plan soon, better ones with time, and a proof in the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from tactician.frozen import frozen
from tactician.planning.budget import Limit, PlanningMeter
from tactician.planning.greedy import GreedySearch, guess_by_relaxed_plan, guess_by_subgoals
from tactician.planning.masks import Masks
from tactician.planning.numbering import find_best_numbering
from tactician.planning.search import STEP_BITS, Search
from tactician.planning.search_trace import SearchMilestone
from tactician.planning.symmetry import find_symmetries

_PROBE: Final = 4000
"""After so many states, times actions, a problem counts as hard."""
_PROBED: Final = range(12, 65)
"""At least and at most so many states are explored before."""
_SECOND_PROBE: Final = 128
"""States that are explored in a better order of the facts before any plan is sought."""
_ROUND: Final = 128
_CAREFUL: Final = 16
_QUICK: Final = 64
"""States that greedy searches explore in turn, so that they take about the same time."""
_TIDYING: Final = 32
"""States that are explored to find a plan that costs the same in fewer steps."""
_HASTE: Final = (5.0, 2.0)
_LANDMARK_HASTE: Final = (3, 2)
_FAR_OFF: Final = 2
"""From so many times the least cost possible on, a plan is to be replaced by any better one."""


@frozen
class SearchOutcome:
    """Result of a search: the best plan, a lower bound of the cost of any plan, and the limit that ended it, if any."""

    steps: list[int] | None
    bound: int
    limit: Limit | None
    nearest: list[int]
    milestones: tuple[SearchMilestone, ...]


class AnytimeSearch:
    """Search that has a plan before it knows that none is better.

    A* comes first, as most problems are small; it begins anew where the problem is not, in a better order of the facts
    and without symmetric states. Then a greedy search finds a plan. From then on A* raises the least cost that a plan
    can have, and in turn with it hasty searches find better plans.
    """

    def __init__(self, masks: Masks, weights: Sequence[int], start: int, meter: PlanningMeter) -> None:
        """Prepare to search from a state."""
        self._masks = masks
        self._weights = weights
        self._start = start
        self._meter = meter
        self._search = Search(masks, weights, start)
        self._others: list[GreedySearch] = []
        self._limit: Limit | None = None
        self._milestones: list[SearchMilestone] = []

    def run(self, known: list[int] | None = None) -> Generator[None, None, SearchOutcome]:
        """Search, and halt after each state.

        Args:
            known: a plan to begin with
        """
        search = self._search
        if known is not None:
            search.offer(known)
        # First a short A* without any preparation: most problems are solved before better numbering or symmetries
        # would pay.
        yield from self._probe()
        if not self._is_done() and not self._is_late():
            yield from self._begin_anew()
            yield from self._explore_while_early(_SECOND_PROBE)
        # Some plan comes before a better plan: a process can start with it.
        if self._search.best is None and not self._is_done():
            yield from self._find_any()
        if not self._is_done():
            if self._search is search:
                yield from self._begin_anew()
            # A* alone raises the bound, hasty searches alone lower the cost: in turn they meet.
            yield from self._improve()
        if self._limit is None:
            yield from self._tidy()
        self._note()
        search = self._search
        return SearchOutcome(search.best, search.bound, self._limit, search.nearest, tuple(self._milestones))

    def _is_done(self) -> bool:
        return self._limit is not None or self._search.is_cheapest or self._search.is_exhausted

    def _begin_anew(self) -> Generator[None, None, None]:
        """Search with the facts in a better order, and a single state of each symmetric set: few states are lost."""
        best, bound = self._search.best, self._search.bound
        self._masks, self._start = yield from find_best_numbering(self._masks, self._weights, self._start)
        yield
        symmetries = yield from find_symmetries(self._masks, self._weights)
        self._search = Search(self._masks, self._weights, self._start, bound, symmetries, self._search)
        if best is not None:
            # The plan still counts: its weight prunes the new search from its first state on.
            self._search.offer(best)
        yield

    def _probe(self) -> Generator[None, None, None]:
        states = _PROBE // (1 + len(self._weights))
        yield from self._explore_while_early(min(max(states, _PROBED.start), _PROBED.stop - 1))

    def _explore_while_early(self, states: int) -> Generator[None, None, None]:
        """Explore so many states by A*, or until it is high time for any plan."""
        for _ in range(states):
            if not self._is_late():
                yield from self._explore(1)

    def _explore(self, states: int, *, hasty: bool = False) -> Generator[None, None, None]:
        """Explore so many states by A*, or hastily until there is a better plan."""
        search, weight = self._search, self._search.weight
        for _ in range(states):
            if self._is_done() or not self._may_continue() or (hasty and search.weight != weight):
                return
            search.explore_next(hasty=hasty)
            self._note()
            yield

    def _find_any(self) -> Generator[None, None, None]:
        """Find a plan greedily, in two ways; in turn with them, A* may be the first to prove that no plan exists."""
        masks, start, weights = self._masks, self._start, self._weights
        careful, quick = guess_by_relaxed_plan(masks, _even_out(weights)), guess_by_subgoals(masks, start)
        self._others = [GreedySearch(masks, weights, start, each) for each in ([careful, quick], [quick])]
        while self._search.best is None and not self._is_done():
            for greedy, states in zip(self._others, (_CAREFUL, _QUICK), strict=True):
                if self._search.best is None:
                    yield from self._explore_greedily(greedy, states)
                if greedy.is_exhausted:
                    # A greedy search is complete: when it has seen every state, no plan exists.
                    self._search.give_up()
            yield from self._explore(1)

    def _improve(self) -> Generator[None, None, None]:
        """Raise the bound by A*, for longer and longer; in between, find better plans by hasty searches."""
        masks, start, weights = self._masks, self._start, self._weights
        guess = guess_by_relaxed_plan(masks, list(map(float, weights)))
        self._others = [GreedySearch(masks, weights, start, [guess], haste=haste) for haste in _HASTE]
        states = _ROUND
        if self._is_far_off():
            yield from self._hurry()
        while not self._is_done():
            yield from self._explore(states)
            yield from self._hurry()
            # Longer each time, so that hasty searches, which may find nothing, take a bounded share of the time.
            states *= 2

    def _hurry(self) -> Generator[None, None, None]:
        for other in self._others:
            yield from self._explore_greedily(other, _ROUND)
        self._search.hasten(*_LANDMARK_HASTE)
        yield from self._explore(_ROUND, hasty=True)
        # The hasty queue would grow with each state that A* explores meanwhile.
        self._search.end_haste()

    def _is_far_off(self) -> bool:
        """Return whether the best plan may cost far more than necessary, so that better ones come first."""
        weight = self._search.weight
        return weight is not None and weight >> STEP_BITS > _FAR_OFF * self._search.bound

    def _explore_greedily(self, greedy: GreedySearch, states: int) -> Generator[None, None, None]:
        """Explore so many states, or until there is a better plan."""
        for _ in range(states):
            if greedy.is_exhausted or self._is_done() or not self._may_continue():
                return
            if (steps := greedy.explore_next(self._search.weight)) is not None:
                self._search.offer(steps)
                self._note()
                return
            yield

    def _tidy(self) -> Generator[None, None, None]:
        for _ in range(_TIDYING):
            if self._search.is_exhausted:
                break
            self._search.explore_next()
            yield

    @property
    def _held(self) -> int:
        return self._search.held + sum(other.held for other in self._others)

    def _is_late(self) -> bool:
        return self._meter.is_short(self._held)

    def _may_continue(self) -> bool:
        """Count a further state, unless a limit is reached."""
        self._limit = self._meter.find_limit(self._held)
        self._meter.expansions += self._limit is None
        return self._limit is None

    def _note(self) -> None:
        search, meter = self._search, self._meter
        bound, cost = search.bound, None if search.weight is None else search.weight >> STEP_BITS
        if not self._milestones or (self._milestones[-1].bound, self._milestones[-1].cost) != (bound, cost):
            self._milestones.append(SearchMilestone(meter.expansions, meter.seconds, bound, cost))


def _even_out(weights: Sequence[int]) -> list[float]:
    """Return costs in which a step counts as much as the mean cost: a plan should be cheap and short."""
    costs = [weight >> STEP_BITS for weight in weights]
    mean = sum(costs) / len(costs) if costs else 0.0
    return [1.0 + (cost / mean if mean else 0.0) for cost in costs]
