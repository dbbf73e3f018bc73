"""Lower bounds of the remaining cost, from the choices that no plan can avoid.

A landmark is a set of actions of which every plan from a state runs at least one. Landmarks that share out the weights
of their members add up to an admissible estimate: LM-cut, after Helmert & Domshlak, "Landmarks, critical paths and
abstractions: what's the difference anyway?" (ICAPS 2009), here without the h-max values. A child state inherits the
landmarks without the action that led to it, after Pommerening & Helmert, "Incremental LM-cut" (ICAPS 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from tactician.frozen import frozen
from tactician.planning.masks import Masks, bits_of

_BYTES_A_LANDMARK: Final = 400


Landmark: TypeAlias = tuple[int, tuple[int, ...]]
"""The part of their weights that it accounts for, and actions of which one must be run.

A plain tuple of numbers is nothing that the garbage collector has to look at again and again.
"""


@frozen
class Estimate:
    """A lower bound, the numbers of the landmarks it comes from, and what is left of each action's weight."""

    bound: int
    landmarks: tuple[int, ...]
    residual: Sequence[int]


class LandmarkFinder:
    """Estimator of the states of a problem.

    States share their landmarks, which have numbers.
    """

    def __init__(self, masks: Masks, weights: Sequence[int]) -> None:
        """Prepare for any number of states."""
        self._masks = masks
        self._weights = weights
        self._table: list[Landmark] = []
        self._numbers: dict[Landmark, int] = {}

    @property
    def held(self) -> int:
        """Bytes that the landmarks take, as estimated."""
        return len(self._table) * _BYTES_A_LANDMARK

    def look_up(self, numbers: Iterable[int]) -> list[Landmark]:
        """Return the landmarks of these numbers."""
        table = self._table
        return [table[number] for number in numbers]

    def leave_standing(self, numbers: tuple[int, ...], step: int) -> tuple[int, ...]:
        """Return the numbers of the landmarks that are still to be paid for after a step."""
        table = self._table
        return tuple([number for number in numbers if step not in table[number][1]])

    def carry_over(self, numbers: tuple[int, ...]) -> Estimate:
        """Return the estimate that follows from these landmarks alone."""
        landmarks = self.look_up(numbers)
        return Estimate(sum([weight for weight, _ in landmarks]), numbers, self._residual(landmarks))

    def estimate(self, state: int, inherited: tuple[int, ...]) -> Estimate | None:
        """Return a lower bound of the weight of a plan from the state, or None if there is certainly no plan.

        The landmarks in hand are completed with others until they account for all that can be seen to be needed.
        """
        landmarks = self.look_up(inherited)
        cuts = _Cuts(self._masks, state, landmarks, self._residual(landmarks))
        goal = self._masks.goal
        while missing := goal & ~cuts.reached:
            zones = [_Zone(fact) for fact in bits_of(missing)]
            while zones:
                for zone in zones:
                    if not zone.facts & cuts.reached and not cuts.find_next(zone):
                        return None
                zones = [zone for zone in zones if not zone.facts & cuts.reached]
        numbers = inherited + tuple([self._number(landmark) for landmark in landmarks[len(inherited) :]])
        return Estimate(sum([weight for weight, _ in landmarks]), numbers, cuts.residual)

    def _number(self, landmark: Landmark) -> int:
        if (number := self._numbers.get(landmark)) is None:
            number = self._numbers[landmark] = len(self._table)
            self._table.append(landmark)
        return number

    def _residual(self, landmarks: Iterable[Landmark]) -> list[int]:
        residual = list(self._weights)
        for weight, members in landmarks:
            for number in members:
                residual[number] -= weight
        return residual


class _Zone:
    """Facts of which one must come true before a goal fact does, and the actions that make them true.

    The action that makes the first of them true needs none of them and is not free, so the actions at the border that
    need none are a landmark.
    """

    __slots__ = ("border", "facts", "fresh")

    def __init__(self, goal: int) -> None:
        self.facts = goal
        self.fresh = [goal]
        self.border: dict[int, None] = {}


class _Cuts:
    """The landmarks of a state, computed in sequence.

    `reached` are the facts that cost nothing more: the landmarks so far have paid for them.
    """

    __slots__ = ("_masks", "landmarks", "reached", "residual")

    def __init__(self, masks: Masks, state: int, landmarks: list[Landmark], residual: list[int]) -> None:
        self._masks = masks
        self.landmarks = landmarks
        self.residual = residual
        self.reached = masks.spread(state, range(len(residual)), residual)

    def find_next(self, zone: _Zone) -> bool:
        """Find the next landmark of a zone, unless a fact in it is reached; False if the goal fact cannot be."""
        needs, residual = self._masks.needs, self.residual
        self._grow(zone)
        if zone.facts & self.reached:
            return True
        zone.border = dict.fromkeys([number for number in zone.border if not needs[number] & zone.facts])
        if not zone.border:
            return False
        weight = min([residual[number] for number in zone.border])
        self.landmarks.append((weight, tuple(zone.border)))
        freed = []
        for number in zone.border:
            residual[number] -= weight
            if not residual[number]:
                freed.append(number)
        self.reached = self._masks.spread(self.reached, freed, residual)
        return True

    def _grow(self, zone: _Zone) -> None:
        """Let a missing need of each free action at the border join the zone, unless the zone already has one."""
        needs, achievers, residual = self._masks.needs, self._masks.achievers, self.residual
        waiting = [number for number in zone.border if not residual[number]]
        while True:
            for number in waiting:
                del zone.border[number]
                if not needs[number] & zone.facts:
                    missing = needs[number] & ~self.reached
                    zone.facts |= missing & -missing
                    zone.fresh.append(missing & -missing)
            waiting = []
            while zone.fresh:
                for number in achievers.get(zone.fresh.pop(), ()):
                    if number not in zone.border:
                        zone.border[number] = None
                        if not residual[number]:
                            waiting.append(number)
            if not waiting or zone.facts & self.reached:
                return
