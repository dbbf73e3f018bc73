"""Looks at a blackboard: the conditions of an agent that cost nothing to evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tactician.frozen import frozen
from tactician.process.board.blackboard import Blackboard

Look: TypeAlias = Callable[[Blackboard], bool]
"""Evaluates a condition from the blackboard alone."""


@frozen
class IsSet:
    """Look that sees whether a condition was set."""

    condition: str

    def __call__(self, board: Blackboard) -> bool:
        """Return whether the condition was set."""
        return board.condition(self.condition)


@frozen
class IsThere:
    """Look that sees whether an object of a type is there."""

    kind: type

    def __call__(self, board: Blackboard) -> bool:
        """Return whether there is such an object."""
        return board.last(self.kind) is not None


class Looks(dict[str, Look]):
    """Looks of an agent, by the names of the conditions. They are sorted once, as each step of a process takes all."""

    __slots__ = ("_kinds", "_others", "_settable")

    def __init__(self, looks: Mapping[str, Look]) -> None:
        super().__init__(looks)
        self._settable = {name: look.condition for name, look in self.items() if isinstance(look, IsSet)}
        self._kinds = {name: look.kind for name, look in self.items() if isinstance(look, IsThere)}
        sorted_out = self._settable.keys() | self._kinds.keys()
        self._others = {name: look for name, look in self.items() if name not in sorted_out}

    def see(self, board: Blackboard) -> dict[str, bool]:
        """Return which of the conditions hold."""
        was_set = board.conditions.get
        seen = board.find_kinds(self._kinds)
        for name, condition in self._settable.items():
            seen[name] = was_set(condition, False)
        for name, look in self._others.items():
            seen[name] = look(board)
        return seen
