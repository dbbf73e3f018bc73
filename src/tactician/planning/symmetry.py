"""Interchangeable objects: groups of facts that can be swapped for each other without changing the problem.

From two states that differ only in which of such objects is which, the goal is equally far away, so a search needs to
explore a single of them: Pochter, Zohar & Rosenschein, "Exploiting problem symmetries in state-based planners" (AAAI
2011); Domshlak, Katz & Shleyfman, "Enhanced symmetry breaking in cost-optimal planning as forward search" (ICAPS 2012).
The start may treat the objects differently; the goal may not.

A search that also keeps to strong stubborn sets stays optimal: Wehrle, Helmert, Shleyfman & Katz, "Integrating partial
order reduction and symmetry elimination for cost-optimal classical planning" (IJCAI 2015). From every state that is
explored, some lightest plan starts with a stubborn action. If the state behind that action is left out, then a
symmetric state was reached by a way that is not heavier, and its lightest plan weighs the same. Since every action
weighs something, each such exchange leaves less to do, so that a lightest plan is always left.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Final, TypeAlias

from tactician.planning.coloring import Coloring
from tactician.planning.masks import Masks, union
from tactician.planning.swaps import Swap, SwapFinder

_MOST_MISTAKES: Final = 4
"""Wrong guesses among the facts of the same colour, after which the others are left alone."""
_MOST_GUESSES: Final = 300
_MOST_REMEMBERED: Final = 1000
"""Situations of an object that are remembered."""

_Object: TypeAlias = tuple[int, ...]
"""The facts of an object, in the order that all objects of its family have in common."""


class Symmetries:
    """Families of interchangeable objects of a problem."""

    def __init__(self, families: Iterable[Sequence[_Object]]) -> None:
        """Prepare for any number of states."""
        self._families = [_Family(objects) for objects in families]
        self._rounds = range(min(2, len(self._families)))

    def find_representative(self, state: int) -> int:
        """Return a state from which the goal is as far away: for many symmetric states, the same."""
        for _ in self._rounds:  # to sort the columns of a table may unsort its rows
            for family in self._families:
                state = family.sort(state)
        return state


def find_symmetries(masks: Masks, weights: Sequence[int]) -> Generator[None, None, Symmetries | None]:
    """Return the families of interchangeable objects, or `None`; halt once in a while."""
    colors = Coloring(masks, weights)
    while colors.refine():
        yield
    finder = _FamilyFinder(SwapFinder(masks, weights, colors))
    for facts in colors.list_shared():
        finder.look_among(facts)
        yield
    return Symmetries(finder.families) if finder.families else None


class _Family:
    """Objects of which each can be swapped for each other."""

    __slots__ = ("_objects", "_others")

    def __init__(self, objects: Sequence[_Object]) -> None:
        self._objects = [(union(facts), _Signatures(facts), _Situations(facts)) for facts in objects]
        self._others = ~union(mask for mask, _, _ in self._objects)

    def sort(self, state: int) -> int:
        """Return the state after swaps that bring the situations of the objects in order."""
        signatures = [object_signatures[state & mask] for mask, object_signatures, _ in self._objects]
        ordered = sorted(signatures)
        if ordered == signatures:
            return state
        state &= self._others
        for (_, _, situations), signature in zip(self._objects, ordered, strict=True):
            state |= situations[signature]
        return state


class _Signatures(dict[int, int]):
    """Situations of an object as numbers, the same as for the other objects of its family."""

    def __init__(self, facts: _Object) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, situation: int) -> int:
        signature = sum([1 << place for place, fact in enumerate(self._facts) if situation & fact])
        return _remember(self, situation, signature)


class _Situations(dict[int, int]):
    """Situations of an object as facts, by their signatures."""

    def __init__(self, facts: _Object) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, signature: int) -> int:
        situation = sum([fact for place, fact in enumerate(self._facts) if signature >> place & 1])
        return _remember(self, signature, situation)


def _remember(signatures: dict[int, int], key: int, value: int) -> int:
    if len(signatures) >= _MOST_REMEMBERED:
        signatures.clear()
    signatures[key] = value
    return value


class _FamilyFinder:
    """Finder of families among facts of the same colour."""

    def __init__(self, swaps: SwapFinder) -> None:
        self.families: list[list[_Object]] = []
        self._swaps = swaps
        self._places: dict[int, set[tuple[int, int]]] = {}  # by fact: a family, and the place in its objects
        self._guesses = 0

    def look_among(self, facts: Sequence[int]) -> None:
        """Find the families that swap these facts."""
        waiting, mistakes = list(facts), 0
        while waiting and mistakes <= _MOST_MISTAKES:
            first = waiting.pop(0)
            objects: list[_Object] = []
            for other in self._unlike(first, waiting):
                if mistakes > _MOST_MISTAKES or self._guesses >= _MOST_GUESSES:
                    break
                self._guesses += 1
                mistakes += not _join(objects, self._swaps.find(first, other))
            if objects:
                self._add(objects)
            waiting = self._unlike(first, waiting)

    def _unlike(self, first: int, others: Iterable[int]) -> list[int]:
        """Return the facts that are not in the same place as the first, in another object of its family."""
        places, first_places = self._places, self._places.get(first, set())
        return [other for other in others if first_places.isdisjoint(places.get(other, ()))]

    def _add(self, objects: list[_Object]) -> None:
        for value in objects:
            for place, fact in enumerate(value):
                self._places.setdefault(fact, set()).add((len(self.families), place))
        self.families.append(objects)


def _join(objects: list[_Object], swap: Swap | None) -> bool:
    """Let the object that is swapped for the first join its family, if these two are like the others."""
    if swap is None:
        return False
    if not objects:
        objects.append(tuple(swap))
    first = objects[0]
    if swap.keys() != set(first) or union(swap.values()) & union(map(union, objects)):
        return False
    objects.append(tuple([swap[fact] for fact in first]))
    return True
