"""Which actions need to be tried in a state, when the others can just as well come later.

Strong stubborn sets: Wehrle & Helmert, "Efficient stubborn sets: generalized algorithms and selection strategies"
(ICAPS 2014). From every state that has a plan, some optimal plan starts with an action of the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tactician.planning.landmarks import Landmark
from tactician.planning.masks import Masks, bits_of, by_bit, union

_TRIAL: Final = 32
_IDLE_TRIAL: Final = 8
_LEAST_SHARE: Final = 0.1


class StubbornSets:
    """Stubborn sets of a problem, which limit the successors of a state.

    Sets of actions are bit masks too: what one action adds to a set may be hundreds of others. Where the sets of the
    first states leave out less than a tenth of the runnable actions, later states do without them.
    """

    def __init__(self, masks: Masks, earlier: StubbornSets | None = None) -> None:
        """Prepare for any number of states.

        Args:
            masks: the actions.
            earlier: sets of the same actions, with the facts in another order. These continue with what they learned.
        """
        self._masks = masks
        self._achievers = {fact: _join(numbers) for fact, numbers in masks.achievers.items()}
        self._rivals: _Rivals = earlier._rivals if earlier else _Rivals(masks)
        self._trials: int = earlier._trials if earlier else 0
        self._runnable: int = earlier._runnable if earlier else 0
        self._kept: int = earlier._kept if earlier else 0

    def successors(self, state: int, landmarks: Sequence[Landmark]) -> list[int]:
        """Return the runnable actions to try, preferred ones first; none that adds nothing to the state."""
        if self._is_tried:
            return self._select(state, landmarks) if self._is_worthwhile else self._masks.list_runnable(state)
        chosen = self._select(state, landmarks)
        self._trials += 1
        self._runnable += len(self._masks.list_runnable(state))
        self._kept += len(chosen)
        return chosen

    @property
    def _is_tried(self) -> bool:
        return self._trials >= (_IDLE_TRIAL if self._kept == self._runnable else _TRIAL)

    @property
    def _is_worthwhile(self) -> bool:
        return self._kept <= self._runnable * (1 - _LEAST_SHARE)

    def _select(self, state: int, landmarks: Sequence[Landmark]) -> list[int]:
        needs, adds, achievers, missing = self._masks.needs, self._masks.adds, self._achievers, ~state
        stubborn = waiting = _join(self._seed(state, landmarks))
        runnable = list[int]()
        while waiting:
            number = waiting.bit_length() - 1
            if unmet := needs[number] & missing:
                more = achievers.get(unmet & -unmet, 0)
            else:
                if adds[number] & missing:
                    runnable.append(number)
                more = self._rivals.find(number)
            waiting = (waiting ^ 1 << number) | more & ~stubborn
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


class _Rivals:
    """The actions that interfere with each action, whatever the order of the facts."""

    def __init__(self, masks: Masks) -> None:
        self._deletes = masks.deletes
        self._touched = [need | add for need, add in zip(masks.needs, masks.adds, strict=True)]
        self._deletable = union(masks.deletes)
        self._deleters = _group_by_bit(masks.deletes)
        self._touchers = _group_by_bit(self._touched) if self._deletable else {}
        self._known: dict[int, int] = {}

    def find(self, number: int) -> int:
        """Return the set of the actions that interfere with an action."""
        rivals = self._known.get(number)
        if rivals is None:
            rivals = 0
            for fact in bits_of(self._touched[number] & self._deletable):
                rivals |= self._deleters[fact]
            for fact in bits_of(self._deletes[number]):
                rivals |= self._touchers.get(fact, 0)
            self._known[number] = rivals
        return rivals


def _join(numbers: Iterable[int]) -> int:
    """Return the set of these numbers as a mask."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _group_by_bit(masks: Sequence[int]) -> dict[int, int]:
    """Return, for each bit, the set of the positions of the masks that contain it, as a mask."""
    return {bit: _join(positions) for bit, positions in by_bit(masks).items()}
