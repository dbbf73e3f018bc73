"""Objects that a process begins with, under names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tactician.errors import ConfigurationError
from tactician.process.blackboard import DEFAULT_BINDING

Named: TypeAlias = Mapping[str, object]
"""Objects by the names under which they go onto a blackboard."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An object, and the name under which it goes onto the blackboard."""

    value: object
    binding: str


def with_named(objects: Iterable[object], named: Named | None) -> tuple[object, ...]:
    """What a process begins with: objects, and then those that have names.

    Raises:
        ConfigurationError: when one of the names is none.
    """
    known = named or {}
    for name in known:
        if not _is_name(name):
            raise ConfigurationError(f"{name!r} is no name for an object: use the name of a parameter")
    return (*objects, *(Bound(value, name) for name, value in known.items()))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != DEFAULT_BINDING
