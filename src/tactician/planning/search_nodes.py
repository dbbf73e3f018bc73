"""Nodes of a search: states and the paths to them."""

from __future__ import annotations

from array import array
from typing import Final

from tactician.planning.symmetry import Symmetries

FORCED: Final = 1
ESTIMATED: Final = 2
EXPANDED: Final = 4
_BYTES_A_NODE: Final = 70
_BYTES_A_VISIT: Final = 260


class SearchNodes:
    """States and the paths to them, in columns: so many objects would keep the garbage collector busy.

    A node is a step from its parent, with flags: `FORCED` if its parent has no other child, `ESTIMATED`, `EXPANDED`.
    Most nodes are never visited, and those that are have a row with more: the state, its `keys`, which symmetric states
    have in common (the states themselves where there are no symmetries), its weight, `bounds`, which are what a plan
    from the state weighs at least, and landmarks: its parent's, until the node is estimated.
    """

    __slots__ = ("bounds", "flags", "keys", "landmarks", "parents", "rows", "states", "steps", "weights")

    def __init__(self, symmetries: Symmetries | None) -> None:
        self.steps = array("i")
        self.parents = array("i")
        self.rows = array("i")
        self.flags = bytearray()
        self.states: list[int] = []
        self.keys = self.states if symmetries is None else list[int]()
        self.weights: list[int] = []
        self.bounds: list[int] = []
        self.landmarks: list[tuple[int, ...]] = []

    def add(self, step: int, parent: int, flags: int) -> int:
        """Add a node, and return its number."""
        self.steps.append(step)
        self.parents.append(parent)
        self.rows.append(-1)
        self.flags.append(flags)
        return len(self.flags) - 1

    def add_row(self, node: int, state: int, key: int, weight: int, bound: int, landmarks: tuple[int, ...] = ()) -> int:
        """Add the row of a node, and return its number."""
        row = self.rows[node] = len(self.states)
        self.states.append(state)
        if self.keys is not self.states:
            self.keys.append(key)
        self.weights.append(weight)
        self.bounds.append(bound)
        self.landmarks.append(landmarks)
        return row

    @property
    def held(self) -> int:
        """Bytes that the nodes take, as estimated, without their landmarks."""
        return len(self.flags) * _BYTES_A_NODE + len(self.states) * _BYTES_A_VISIT

    def path(self, node: int) -> list[int]:
        """Return the steps from the start to a node."""
        steps = []
        while self.parents[node] >= 0:
            steps.append(self.steps[node])
            node = self.parents[node]
        return steps[::-1]
