"""How much any plan must still cost, from the choices that no plan can avoid.

A landmark is a set of actions of which every plan from a state runs at least one. Landmarks that share out the weights
of their members add up to an admissible estimate: LM-cut, after Helmert & Domshlak, "Landmarks, critical paths and
abstractions: what's the difference anyway?" (ICAPS 2009), here without the h-max values. A child state inherits the
landmarks without the action that led to it, after Pommerening & Helmert, "Incremental LM-cut" (ICAPS 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tactician.planning.masks import Masks

_BYTES_A_LANDMARK: Final = 400


class Landmark(NamedTuple):
    """Actions of which one must be run, and the part of their weights that it accounts for."""

    weight: int
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A lower bound, the landmarks it comes from, and what is left of each action's weight."""

    bound: int
    landmarks: tuple[Landmark, ...]
    residual: Sequence[int]


class LandmarkFinder:
    """Estimates states of one problem."""

    def __init__(self, masks: Masks, weights: Sequence[int]) -> None:
        """Prepare for any number of states."""
        self._masks = masks
        self._weights = weights
        self._known: dict[Landmark, Landmark] = {}  # states share what they have in common

    @property
    def held(self) -> int:
        """Bytes that the landmarks take, as estimated."""
        return len(self._known) * _BYTES_A_LANDMARK

    def carry_over(self, landmarks: tuple[Landmark, ...]) -> Estimate:
        """The estimate that follows from these landmarks alone."""
        return Estimate(sum(landmark.weight for landmark in landmarks), landmarks, self._residual(landmarks))

    def estimate(self, state: int, inherited: Iterable[Landmark]) -> Estimate | None:
        """A lower bound for the weight of a plan from the state, or None if there is certainly no plan.

        The landmarks in hand are completed with others until they account for all that can be seen to be needed.
        """
        cuts = _Cuts(self._masks, state, list(inherited), self._residual(inherited))
        goal = self._masks.goal
        while goal & ~cuts.reached:
            if not cuts.towards(goal & ~cuts.reached):
                return None
        shared = self._known.setdefault
        landmarks = tuple([shared(landmark, landmark) for landmark in cuts.landmarks])
        return Estimate(sum([landmark.weight for landmark in landmarks]), landmarks, cuts.residual)

    def _residual(self, landmarks: Iterable[Landmark]) -> list[int]:
        residual = list(self._weights)
        for weight, members in landmarks:
            for number in members:
                residual[number] -= weight
        return residual


class _Cuts:
    """The landmarks of one state, found one after another.

    `reached` are the facts that cost nothing more: the landmarks found so far have paid for them.
    """

    __slots__ = ("_masks", "landmarks", "reached", "residual")

    def __init__(self, masks: Masks, state: int, landmarks: list[Landmark], residual: list[int]) -> None:
        self._masks = masks
        self.landmarks = landmarks
        self.residual = residual
        self.reached = masks.spread(state, range(len(residual)), residual)

    def towards(self, missing: int) -> bool:
        """Find landmarks for a missing goal fact until some fact around it is reached; False if it cannot be.

        The zone holds facts of which one must come true before the goal does. The action that makes the first of
        them true needs none of them and is not free, so the actions at the border of the zone are a landmark.
        """
        needs = self._masks.needs
        zone = missing & -missing
        fresh, border = [zone], list[int]()
        while not zone & self.reached:
            zone = self._grow(zone, fresh, border)
            border = [number for number in dict.fromkeys(border) if not needs[number] & zone]
            if not border:
                return False
            freed = self._pay(border)
            border = [number for number in border if self.residual[number]]
            self.reached = self._masks.spread(self.reached, freed, self.residual)
            if not zone & self.reached:
                zone = self._absorb(freed, zone, fresh)
        return True

    def _grow(self, zone: int, fresh: list[int], border: list[int]) -> int:
        achievers = self._masks.achievers
        while fresh:
            for number in achievers.get(fresh.pop(), ()):
                if self.residual[number]:
                    border.append(number)
                else:
                    zone = self._absorb((number,), zone, fresh)
        return zone

    def _absorb(self, free: Iterable[int], zone: int, fresh: list[int]) -> int:
        """Let one missing need of each free action join the zone, unless one is there already."""
        needs = self._masks.needs
        for number in free:
            if not needs[number] & zone:
                missing = needs[number] & ~self.reached
                zone |= missing & -missing
                fresh.append(missing & -missing)
        return zone

    def _pay(self, members: Sequence[int]) -> list[int]:
        """Record a landmark, and give the members that have become free."""
        weight = min(self.residual[number] for number in members)
        self.landmarks.append(Landmark(weight, tuple(members)))
        for number in members:
            self.residual[number] -= weight
        return [number for number in members if not self.residual[number]]
