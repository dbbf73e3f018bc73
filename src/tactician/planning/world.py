"""Known state of the world: named conditions that are true, false or unknown."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias


class Unknown(Enum):
    """The type of `UNKNOWN`, which is falsy: an unknown condition does not hold."""

    UNKNOWN = "unknown"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Final = Unknown.UNKNOWN
"""The value of a condition that is neither true nor false, as far as anybody knows."""

ConditionValue: TypeAlias = bool | Unknown
_VALUES: Final = frozenset((bool, Unknown))
Fact: TypeAlias = tuple[str, bool]


def render(fact: Fact) -> str:
    """Write a fact for people: `hasMoney` or `not hasMoney`."""
    name, holds = fact
    return name if holds else f"not {name}"


class HasEffects(Protocol):
    """Something that changes the world, such as an action."""

    @property
    def effects(self) -> Mapping[str, bool]:
        """The conditions that it makes true or false."""
        ...


class WorldState(Mapping[str, ConditionValue]):
    """An immutable mapping from condition names to True, False or `UNKNOWN`, hashable by value.

    A condition that is absent or `UNKNOWN` satisfies neither True nor False.
    """

    __slots__ = ("_conditions", "_hash")

    def __init__(self, conditions: Mapping[str, ConditionValue] | None = None) -> None:
        """Copy the conditions; none are known by default.

        Raises:
            TypeError: they are not a mapping, or a condition has a value other than True, False and `UNKNOWN`
        """
        if not isinstance(conditions, Mapping | None):
            raise TypeError(f"the conditions of a WorldState must be a mapping, as {{'a': True}}, not {conditions!r}")
        self._conditions: dict[str, ConditionValue] = dict(conditions or {})
        if not _VALUES.issuperset(map(type, self._conditions.values())):
            name, value = next(condition for condition in self._conditions.items() if type(condition[1]) not in _VALUES)
            raise TypeError(f"condition {name!r} of a WorldState must be True, False or UNKNOWN, not {value!r}")
        self._hash: int | None = None

    def __getitem__(self, name: str) -> ConditionValue:
        return self._conditions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._conditions)

    def __len__(self) -> int:
        return len(self._conditions)

    def __contains__(self, name: object) -> bool:
        return name in self._conditions

    def items(self) -> ItemsView[str, ConditionValue]:
        """Return the names with their values."""
        return self._conditions.items()

    def __eq__(self, other: object) -> bool:
        return self._conditions == other._conditions if isinstance(other, WorldState) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._conditions.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"WorldState({self._conditions!r})"

    def satisfies(self, conditions: Mapping[str, bool]) -> bool:
        """Return True if all these conditions have the requested values."""
        world_conditions = self._conditions
        return all(world_conditions.get(name) == value for name, value in conditions.items())

    def with_(self, conditions: Mapping[str, ConditionValue] | None = None, /, **named: ConditionValue) -> WorldState:
        """Return a copy in which these conditions have these values."""
        return WorldState({**self._conditions, **(conditions or {}), **named})

    def apply(self, action: HasEffects) -> WorldState:
        """Return the world after the action has had all its effects."""
        return self.with_(action.effects)

    def is_result_of(self, action: HasEffects, before: WorldState) -> bool:
        """Return True if this is the world before, with all effects of the action and no other change."""
        return self._conditions == {**before._conditions, **action.effects}
