"""Filters of searches by the metadata of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tactician.frozen import frozen
from tactician.rag.elements import Metadata, MetadataValue


@frozen
class Condition:
    """Condition on a fact about a document.

    Attributes:
        key: the name of the fact.
        values: the values that are accepted. Of a fact that is a list, a single value is enough.
    """

    key: str
    values: tuple[str | int | float | bool, ...]

    def accepts(self, metadata: Metadata) -> bool:
        """Return whether the metadata has an accepted value."""
        fact = metadata.get(self.key)
        return fact is not None and any(
            _is_same(value, accepted) for value in list_values(fact) for accepted in self.values
        )


@frozen
class Filter:
    """Conditions on the metadata of a document, all of which have to hold: `Filter.of({"team": ["sales", "all"]})`.

    A document without a fact that a condition is on is not found.
    """

    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, where: Where) -> Filter:
        """Return the filter for a mapping of names to values or lists of accepted values."""
        if isinstance(where, Filter):
            return where
        return cls(tuple(Condition(key, list_values(value)) for key, value in (where or {}).items()))

    def __and__(self, other: Filter) -> Filter:
        return Filter((*self.conditions, *other.conditions))

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def accepts(self, metadata: Metadata) -> bool:
        """Return whether all conditions hold."""
        return all(condition.accepts(metadata) for condition in self.conditions)


Where: TypeAlias = Filter | Mapping[str, MetadataValue] | None
"""Filter, or a mapping of the names of facts to their accepted values; `None` accepts every document."""


def list_values(value: MetadataValue) -> tuple[str | int | float | bool, ...]:
    """Return a value, or the values of a list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value,)
    return tuple(value)


def _is_same(left: object, right: object) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)
