"""Any plan, soon: a greedy search that follows relaxed plans.

Lazy greedy best-first search with preferred operators, after Richter & Westphal, "The LAMA planner" (JAIR 2010). A
state is estimated when it is taken from a queue, not when it is found; states that relaxed plans lead to have a queue
of their own, which comes first for a while after each progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final, NamedTuple, TypeAlias

from tactician.planning.masks import Masks
from tactician.planning.relaxed import RelaxedPlanner
from tactician.planning.subgoals import SubgoalCounter

_BOOST: Final = 1000
_BYTES_A_STATE: Final = 300
_BYTES_AN_ENTRY: Final = 120


class Place(NamedTuple):
    """A state that was reached, and how; `reached` are the facts that were true on the way."""

    state: int
    reached: int
    step: int
    before: Place | None


class Guess(NamedTuple):
    """How far a state seems to be from the goal, and the actions that seem to lead there."""

    distance: float
    preferred: Sequence[int]


Guesser: TypeAlias = Callable[[Place, Sequence[int]], Guess | None]
"""Looks at a place and the actions that can run there; `None` if the goal is certainly out of reach."""
_Entry: TypeAlias = tuple[float, int, Place, int]


class GreedySearch:
    """One search for any plan, state by state.

    For each guesser there are two queues, of all actions and of those that some guesser prefers, and they take turns.
    """

    def __init__(self, masks: Masks, start: int, guessers: Sequence[Guesser]) -> None:
        """Prepare to search from a state."""
        self.steps: list[int] | None = None
        self._masks = masks
        self._guessers = guessers
        self._seen = {start}
        self._found = count()
        self._queues: list[list[_Entry]] = [[] for _ in range(2 * len(guessers))]
        self._priority = [0] * len(self._queues)
        self._least = [float("inf")] * len(guessers)
        self._explore(Place(start, start, -1, None))

    @property
    def is_exhausted(self) -> bool:
        """True when all states that can be reached were explored."""
        return self.steps is None and not any(self._queues)

    @property
    def held(self) -> int:
        """Bytes that the search holds, as estimated."""
        return len(self._seen) * _BYTES_A_STATE + sum(map(len, self._queues)) * _BYTES_AN_ENTRY

    def explore_next(self) -> None:
        """Explore the most promising state. A plan that is found is in `steps`."""
        while any(self._queues) and self.steps is None:
            _, _, before, step = heappop(self._choose())
            state = self._masks.after(before.state, step)
            if state not in self._seen:
                self._seen.add(state)
                self._explore(Place(state, before.reached | state, step, before))
                return

    def _choose(self) -> list[_Entry]:
        numbers = [number for number, queue in enumerate(self._queues) if queue]
        chosen = min(numbers, key=self._priority.__getitem__)
        self._priority[chosen] += 1
        return self._queues[chosen]

    def _explore(self, place: Place) -> None:
        if not self._masks.goal & ~place.state:
            self.steps = _path_to(place)
            return
        missing, adds = ~place.state, self._masks.adds
        runnable = [step for step, need in enumerate(self._masks.needs) if not need & missing and adds[step] & missing]
        guesses = list[Guess]()
        for guesser in self._guessers:
            if (guess := guesser(place, runnable)) is None:
                return
            guesses.append(guess)
        preferred = dict.fromkeys(step for guess in guesses for step in guess.preferred)
        for number, guess in enumerate(guesses):
            if guess.distance < self._least[number]:
                self._least[number] = guess.distance
                for queue in range(1, len(self._queues), 2):
                    self._priority[queue] -= _BOOST
            self._add(self._queues[2 * number], guess.distance, place, runnable)
            self._add(self._queues[2 * number + 1], guess.distance, place, preferred)

    def _add(self, queue: list[_Entry], distance: float, place: Place, steps: Iterable[int]) -> None:
        for step in steps:
            heappush(queue, (distance, next(self._found), place, step))


def guess_by_relaxed_plan(masks: Masks, costs: Sequence[float]) -> Guesser:
    """Return a guesser that knows much of each state, and takes its time."""
    planner = RelaxedPlanner(masks, costs)

    def guess(place: Place, runnable: Sequence[int]) -> Guess | None:
        relaxed = planner.find(place.state)
        return None if relaxed is None else Guess(relaxed.cost, relaxed.preferred)

    return guess


def guess_by_subgoals(masks: Masks, start: int) -> Guesser:
    """Return a guesser that is quick, and knows little."""
    counter = SubgoalCounter(masks, start)
    adds = masks.adds

    def guess(place: Place, runnable: Sequence[int]) -> Guess:
        left = counter.subgoals & ~place.reached
        return Guess(counter.count(place.state, place.reached), [step for step in runnable if adds[step] & left])

    return guess


def _path_to(place: Place) -> list[int]:
    steps: list[int] = []
    while place.before is not None:
        steps.append(place.step)
        place = place.before
    return steps[::-1]
