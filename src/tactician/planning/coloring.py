"""Colours of facts and actions: those that can be swapped for each other without changing the problem have the same.

Colour refinement: the colour of an action follows from the colours of its facts, and the colour of a fact from its
actions, until no more colours come up. Facts of the same colour need not be interchangeable; in most problems no two
facts have the same colour, and there is nothing to look for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import or_
from typing import Final

from tactician.planning.masks import Masks, bits_of, by_bit, union

_PARTS: Final = (3, 5, 7)
"""Factors for facts that an action needs, adds and deletes: they tell sums of their colours apart."""


class Coloring:
    """Colours of the facts and actions of a problem: numbers, of which sums stand for sets.

    Attributes:
        facts: colour of each fact
        actions: colour of each action, by its number
    """

    def __init__(self, masks: Masks, weights: Sequence[int]) -> None:
        """Begin with the colours that goals and weights have."""
        self._touched = [*map(or_, map(or_, masks.needs, masks.adds), masks.deletes)]
        self._users = masks.needers, masks.achievers, by_bit(masks.deletes)
        self.facts = {fact: hash((fact & masks.goal == 0,)) for fact in bits_of(masks.goal | union(self._touched))}
        self.actions = list(weights)
        self._fresh: Iterable[int] = self.facts

    def refine(self) -> bool:
        """Refine the colours once, and return whether there may be more to refine."""
        facts, actions = self.facts, self.actions
        sums: dict[int, int] = {}
        for part, users in zip(_PARTS, self._users, strict=True):
            for fact in self._fresh:
                color = part * facts[fact]
                for action in users.get(fact, ()):
                    sums[action] = sums.get(action, 0) + color
        for action, color in sums.items():
            actions[action] = hash((actions[action], color))
        near = union([self._touched[action] for action in sums])
        self._fresh = [fact for members in self.list_shared() if near & union(members) for fact in self._split(members)]
        return bool(self._fresh)

    def list_shared(self) -> list[list[int]]:
        """Return the facts of each colour that several have."""
        classes: dict[int, list[int]] = {}
        for fact, color in self.facts.items():
            classes.setdefault(color, []).append(fact)
        return [facts for facts in classes.values() if len(facts) > 1]

    def _split(self, members: list[int]) -> list[int]:
        """Give facts of the same colour new colours if their actions differ, and return the facts that changed."""
        colors = [self._describe(fact) for fact in members]
        if len(set(colors)) == 1:
            return []
        self.facts.update(zip(members, colors, strict=True))
        return members

    def _describe(self, fact: int) -> int:
        """Return a number for the colours of the actions that use a fact."""
        actions = self.actions
        return hash(
            (self.facts[fact], *[sum([actions[user] for user in users.get(fact, ())]) for users in self._users])
        )
