"""Any plan, soon: a greedy search that follows relaxed plans.

Lazy greedy best-first search with preferred operators, after Richter & Westphal, "The LAMA planner" (JAIR 2010). A
state is estimated when it is taken from a queue, not when it is reached; states that relaxed plans lead to have a queue
of their own, which comes first for a while after each progress.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heapreplace
from typing import Final, NamedTuple, TypeAlias

from tactician.planning.masks import Masks
from tactician.planning.relaxed import RelaxedPlanner
from tactician.planning.subgoals import SubgoalCounter

_BOOST: Final = 1000
_BYTES_A_STATE: Final = 300
_BYTES_AN_ENTRY: Final = 120


class Guess(NamedTuple):
    """Estimated distance of a state from the goal, and the actions that seem to lead there."""

    distance: float
    preferred: Sequence[int]


Guesser: TypeAlias = Callable[[int, int, Sequence[int]], Guess | None]
"""Looks at a state, at the facts that were true on the way, and at the actions that can run there.

`None` if the goal is certainly out of reach.
"""
_Entry: TypeAlias = tuple[float, int, int, "array[int]"]
"""The key, a place, which action to try next, and all that are to be tried there."""


class GreedySearch:
    """Search for any plan, state by state.

    For each guesser there are two queues, of all actions and of those that some guesser prefers, and they take turns.
    """

    def __init__(
        self,
        masks: Masks,
        weights: Sequence[int],
        start: int,
        guessers: Sequence[Guesser],
        *,
        haste: float | None = None,
    ) -> None:
        """Prepare to search from a state.

        Args:
            masks: the actions, and the goal
            weights: weight of each action
            start: the state to start from
            guessers: functions that guess how far a state is from the goal
            haste: by which factor the way to go counts more than the way so far, which counts nothing for `None`
        """
        self._masks = masks
        self._weights = weights
        self._guessers = guessers
        self._haste = haste
        self._lightest = {start: 0}
        self._queues: list[list[_Entry]] = [[] for _ in range(2 * len(guessers))]
        self._priority = [0] * len(self._queues)
        self._least = [float("inf")] * len(guessers)
        self._places: list[tuple[int, int, int, int, int]] = []  # state, facts on the way, weight, step, place before
        self._explore((start, start, 0, -1, -1))

    @property
    def is_exhausted(self) -> bool:
        """True when nothing is left to explore."""
        return not any(self._queues)

    @property
    def held(self) -> int:
        """Bytes that the search holds, as estimated."""
        return len(self._lightest) * _BYTES_A_STATE + sum(map(len, self._queues)) * _BYTES_AN_ENTRY

    def explore_next(self, below: int | None = None) -> list[int] | None:
        """Explore the most promising state, and return the steps of a lighter plan if it leads there."""
        while any(self._queues):
            before, step = self._take(self._choose())
            state, reached, weight, *_ = self._places[before]
            state, weight = self._masks.after(state, step), weight + self._weights[step]
            if (below is None or weight < below) and self._is_new(state, weight):
                self._lightest[state] = weight
                if not self._masks.goal & ~state:
                    return [*self._path_to(before), step]
                self._explore((state, reached | state, weight, step, before))
                break
        return None

    @staticmethod
    def _take(queue: list[_Entry]) -> tuple[int, int]:
        """Take a step from the first place of a queue."""
        key, place, position, steps = queue[0]
        if position + 1 < len(steps):
            heapreplace(queue, (key, place, position + 1, steps))
        else:
            heappop(queue)
        return place, steps[position]

    def _is_new(self, state: int, weight: int) -> bool:
        """Return whether the state is new, or reached by a lighter way where that counts."""
        lightest_weight = self._lightest.get(state)
        return lightest_weight is None or (self._haste is not None and weight < lightest_weight)

    def _choose(self) -> list[_Entry]:
        numbers = [number for number, queue in enumerate(self._queues) if queue]
        chosen = min(numbers, key=self._priority.__getitem__)
        self._priority[chosen] += 1
        return self._queues[chosen]

    def _explore(self, place: tuple[int, int, int, int, int]) -> None:
        state, reached, weight, *_ = place
        runnable = self._masks.list_runnable(state)
        guesses = list[Guess]()
        for guesser in self._guessers:
            if (guess := guesser(state, reached, runnable)) is None:
                return
            guesses.append(guess)
        self._places.append(place)
        tried = array("I", runnable)  # takes less memory than a tuple
        preferred = array("I", dict.fromkeys(step for guess in guesses for step in guess.preferred))
        for number, guess in enumerate(guesses):
            if guess.distance < self._least[number]:
                self._least[number] = guess.distance
                for preferring in range(1, len(self._queues), 2):
                    self._priority[preferring] -= _BOOST
            key = guess.distance if self._haste is None else weight + self._haste * guess.distance
            for queue, steps in zip(self._queues[2 * number :], (tried, preferred), strict=False):
                if steps:
                    heappush(queue, (key, len(self._places) - 1, 0, steps))

    def _path_to(self, place: int) -> list[int]:
        steps: list[int] = []
        while (before := self._places[place][4]) >= 0:
            steps.append(self._places[place][3])
            place = before
        return steps[::-1]


def guess_by_relaxed_plan(masks: Masks, costs: Sequence[float]) -> Guesser:
    """Return a guesser that knows much of each state, and takes its time."""
    planner = RelaxedPlanner(masks, costs)

    def guess(state: int, reached: int, runnable: Sequence[int]) -> Guess | None:
        relaxed = planner.find(state)
        return None if relaxed is None else Guess(relaxed.cost, relaxed.preferred)

    return guess


def guess_by_subgoals(masks: Masks, start: int) -> Guesser:
    """Return a guesser that is quick, and knows little."""
    counter = SubgoalCounter(masks, start)
    adds = masks.adds

    def guess(state: int, reached: int, runnable: Sequence[int]) -> Guess:
        left = counter.subgoals & ~reached
        return Guess(counter.count(state, reached), [step for step in runnable if adds[step] & left])

    return guess
