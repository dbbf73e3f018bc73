"""Simplifications that keep every optimal plan, or an equally good plan."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.planning.masks import Masks, bits_of, by_bit, union


def split_enablers(needs: Sequence[int], adds: Sequence[int], deletes: Sequence[int]) -> list[int]:
    """Return, for each action, the preconditions that only have to hold at the start.

    No action adds such a fact, and any action that deletes it also adds, for good, all that the action in question
    adds. An optimal plan then never runs the action after the fact is gone, as it would achieve nothing. So "has not
    run yet" and "its output is not there yet" need not be watched, and no longer make actions compete.
    """
    added, deleted = union(adds), union(deletes)
    deleters = by_bit(deletes)

    def replaceable(number: int, fact: int) -> bool:
        return all(not adds[number] & ~adds[deleter] for deleter in deleters[fact])

    enablers = []
    for number, need in enumerate(needs):
        enabler = need & ~added
        if enabler & deleted:
            lasting = not adds[number] & deleted
            for fact in bits_of(enabler & deleted):
                if not (lasting and replaceable(number, fact)):
                    enabler ^= fact
        enablers.append(enabler)
    return enablers


def find_undominated(masks: Masks, weights: Sequence[int], candidates: Sequence[int]) -> list[int]:
    """Leave out the candidates that the cheapest of them can always stand in for.

    It can if it weighs no more, needs no more, deletes no more and adds at least as much.
    """
    best = min(candidates, key=lambda number: (weights[number], masks.needs[number].bit_count(), number))
    return [number for number in candidates if number == best or not _dominates(masks, best, number)]


def _dominates(masks: Masks, best: int, number: int) -> bool:
    return not (
        masks.needs[best] & ~masks.needs[number]
        or masks.adds[number] & ~masks.adds[best]
        or masks.deletes[best] & ~masks.deletes[number]
    )
