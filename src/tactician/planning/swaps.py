"""Swaps: exchanges of facts that turn every action into another of the problem that weighs the same.

A swap is guessed from two facts of the same colour, step by step: an action that uses the first is paired with the most
similar action that uses the second, and wherever these two differ, their facts take each other's places too. In the end
the swap is verified, so that a wrong guess does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tactician.planning.coloring import Coloring
from tactician.planning.masks import Masks, bits_of, by_bit

Swap: TypeAlias = dict[int, int]
"""What takes the place of what, from the side of the first fact: the other way around goes without saying."""


class SwapFinder:
    """Finder of the swaps of a problem."""

    def __init__(self, masks: Masks, weights: Sequence[int], colors: Coloring) -> None:
        """Prepare for any number of facts."""
        columns = masks.needs, masks.adds, masks.deletes
        self._goal = masks.goal
        self._weights = weights
        self._colors = colors
        self._parts = list(zip(*columns, strict=True))
        self._actions = set(zip(*columns, weights, strict=True))
        self._touched = [need | add | delete for need, add, delete in self._parts]
        self._users = by_bit(self._touched)

    def find(self, first: int, other: int) -> Swap | None:
        """Return a swap of these facts that leaves much as it is, or `None` without success."""
        swap, places, waiting = {first: other}, {other}, [first]
        while waiting:
            fact = waiting.pop()
            for action in self._users.get(fact, ()):
                for mine, its in self._pair(action, swap[fact]):
                    if swap.get(mine) == its:
                        continue
                    # A fact with two partners is no symmetry; to give up here keeps the search as small as the swap.
                    if not {mine, its}.isdisjoint(places) or mine in swap or its in swap:
                        return None
                    swap[mine] = its
                    places.add(its)
                    waiting.append(mine)
        return swap if self._is_valid(swap) else None

    def _pair(self, action: int, other: int) -> Iterable[tuple[int, int]]:
        """Pair the facts in which an action differs from the most similar action that uses the other fact."""
        touched, colors = self._touched, self._colors.actions
        own = touched[action]
        peers = [peer for peer in self._users.get(other, ()) if colors[peer] == colors[action]]
        if own & other or not peers:
            return ()
        peer = min(peers, key=lambda number: (touched[number] ^ own).bit_count())
        return zip(self._order(action, own & ~touched[peer]), self._order(peer, touched[peer] & ~own), strict=False)

    def _order(self, action: int, facts: int) -> list[int]:
        """Return the facts in the order of their parts in the action, and of their colours."""
        parts, colors = self._parts[action], self._colors.facts
        return sorted(bits_of(facts), key=lambda fact: (*[not part & fact for part in parts], colors[fact]))

    def _is_valid(self, swap: Swap) -> bool:
        """Return whether the swap leaves the goal as it is, and turns every action into another of the problem."""
        exchange = {**swap, **{its: mine for mine, its in swap.items()}}
        changed = {action for fact in exchange for action in self._users.get(fact, ())}
        return _translate(self._goal, exchange) == self._goal and all(
            (*[_translate(part, exchange) for part in self._parts[action]], self._weights[action]) in self._actions
            for action in changed
        )


def _translate(mask: int, exchange: Mapping[int, int]) -> int:
    return sum([exchange.get(fact, fact) for fact in bits_of(mask)])
