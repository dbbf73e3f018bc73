"""Actions as bit masks over facts.

A fact is a condition with a value, so `x` and `not x` are two facts, and every precondition is positive. To hold
more facts is never worse: this is plain STRIPS, and all the reductions build on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tactician.frozen import frozen


def bits_of(mask: int) -> Iterator[int]:
    """Yield the single bits of a mask, lowest first."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def union(masks: Iterable[int]) -> int:
    """Return the union of all masks."""
    total = 0
    for mask in masks:
        total |= mask
    return total


def by_bit(masks: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return, for each bit, the positions of the masks that contain it."""
    index: dict[int, list[int]] = {}
    for position, mask in enumerate(masks):
        for bit in bits_of(mask):
            index.setdefault(bit, []).append(position)
    return {bit: tuple(positions) for bit, positions in index.items()}


@frozen
class Masks:
    """The goal, and by action number what it needs, adds and deletes. Lower numbers are preferred.

    `adds` holds only facts the action does not need itself; `achievers` and `needers` list, by fact, the actions that
    add and need it.
    """

    goal: int
    needs: Sequence[int]
    adds: Sequence[int]
    deletes: Sequence[int]
    achievers: dict[int, tuple[int, ...]]
    needers: dict[int, tuple[int, ...]]

    @staticmethod
    def of(goal: int, needs: Sequence[int], adds: Sequence[int], deletes: Sequence[int]) -> Masks:
        """Index the actions, after forgetting what no action and no goal needs."""
        relevant = goal | union(needs)
        adds = [mask & relevant for mask in adds]
        return Masks(goal, needs, adds, [mask & relevant for mask in deletes], by_bit(adds), by_bit(needs))

    def only(self, numbers: Sequence[int]) -> Masks:
        """Return the same goal with some of the actions, renumbered in this order."""
        needs, adds, deletes = ([column[n] for n in numbers] for column in (self.needs, self.adds, self.deletes))
        return Masks.of(self.goal, needs, adds, deletes)

    def after(self, state: int, number: int) -> int:
        """Return the state that an action leads to."""
        return state & ~self.deletes[number] | self.adds[number]

    def list_runnable(self, state: int) -> list[int]:
        """Return the actions that can run in a state and add something to it."""
        missing, adds = ~state, self.adds
        return [step for step, need in enumerate(self.needs) if not need & missing and adds[step] & missing]

    def run(self, start: int, steps: Iterable[int]) -> bool:
        """Return True if the steps can be run in this order and reach the goal."""
        state = start
        for step in steps:
            if self.needs[step] & ~state:
                return False
            state = self.after(state, step)
        return not self.goal & ~state

    def interfere(self, first: int, other: int) -> bool:
        """Return True if either action destroys what the other needs or adds, so that their order matters."""
        return bool(
            self.deletes[first] & (self.needs[other] | self.adds[other])
            or self.deletes[other] & (self.needs[first] | self.adds[first])
        )

    def spread(self, reached: int, candidates: Iterable[int], held: Sequence[int]) -> int:
        """Return the facts that can be reached if none is ever deleted, without the held actions (those not 0).

        All that is reached must have been tried before, except for the candidates.
        """
        needs, adds, new = self.needs, self.adds, 0
        for number in candidates:
            if not held[number] and not needs[number] & ~reached:
                new |= adds[number] & ~reached
                reached |= new
        while new:
            fact = new & -new
            new ^= fact
            for number in self.needers.get(fact, ()):
                if not held[number] and not needs[number] & ~reached:
                    new |= adds[number] & ~reached
                    reached |= new
        return reached
