"""Which actions need to be tried in a state, when the others can just as well come later.

Strong stubborn sets: Wehrle & Helmert, "Efficient stubborn sets: generalized algorithms and selection strategies"
(ICAPS 2014). From every state that has a plan, some optimal plan starts with an action of the set.
"""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning.landmarks import Landmark
from tactician.planning.masks import Masks, bits_of, by_bit, union


class StubbornSets:
    """Stubborn sets of a problem, which limit the successors of a state."""

    def __init__(self, masks: Masks) -> None:
        """Prepare for any number of states."""
        self._masks = masks
        self._touched = [need | add for need, add in zip(masks.needs, masks.adds, strict=True)]
        self._deletable = union(masks.deletes)
        self._deleters = by_bit(masks.deletes)
        self._touchers = by_bit(self._touched) if self._deletable else {}
        self._rivals: dict[int, set[int]] = {}

    def successors(self, state: int, landmarks: Sequence[Landmark]) -> list[int]:
        """Return the runnable actions to try, preferred ones first."""
        needs = self._masks.needs
        seed = self._seed(state, landmarks)
        stubborn, waiting, runnable = set(seed), list(seed), list[int]()
        while waiting:
            number = waiting.pop()
            unmet = needs[number] & ~state
            if not unmet:
                runnable.append(number)
            more = set(self._masks.achievers.get(unmet & -unmet, ())) if unmet else self._interfering(number)
            waiting.extend(more - stubborn)
            stubborn |= more
        return sorted(runnable)

    def _seed(self, state: int, landmarks: Sequence[Landmark]) -> Sequence[int]:
        """Return the landmark that promises the smallest set: few blocked members, then few members."""
        needs = self._masks.needs
        best: tuple[int, int, Sequence[int]] | None = None
        for _, members in reversed(landmarks):  # the last are the nearest to the state
            blocked = sum(1 for number in members if needs[number] & ~state)
            if best is None or (blocked, len(members)) < best[:2]:
                best = blocked, len(members), members
            if best[:2] == (0, 1):
                break
        return best[2] if best else ()

    def _interfering(self, number: int) -> set[int]:
        rivals = self._rivals.get(number)
        if rivals is None:
            rivals = {
                other for fact in bits_of(self._touched[number] & self._deletable) for other in self._deleters[fact]
            }
            for fact in bits_of(self._masks.deletes[number]):
                rivals.update(self._touchers.get(fact, ()))
            self._rivals[number] = rivals
        return rivals
