"""Objects that mean something to every process: input, rejections, results in parts, states, and objects with names."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from pydantic import BaseModel

from tactician.errors import ConfigurationError

DEFAULT_BINDING: Final = "it"
STATE: Final = "__tactician_state__"

Named: TypeAlias = Mapping[str, object]
"""Objects by the names under which they go onto a blackboard."""


@dataclass(frozen=True, slots=True)
class UserInput:
    """Text that a person typed, and the time."""

    content: str
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Rejection by a person of what an action asked. An action that takes one is another way to continue.

    Attributes:
        action: the action that asked.
        prompt: what it asked.
        reason: why not; may be empty.
    """

    action: str
    prompt: str
    reason: str = ""


class SomeOf:
    """Base class of what an action returns when it gives one or more of several objects.

    Each field that is not `None` is put onto the blackboard by itself, after the whole. A dataclass, a pydantic model
    or a plain class with annotations will do.
    """


def get_field_names(kind: type) -> tuple[str, ...]:
    """Return the fields of a subclass of `SomeOf`."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    if issubclass(kind, BaseModel):
        return tuple(kind.model_fields)
    annotated = (name for base in reversed(kind.__mro__) for name in inspect.get_annotations(base))
    return tuple(dict.fromkeys(name for name in annotated if not name.startswith("_")))


def get_parts(value: object) -> tuple[object, ...]:
    """Return the parts of a `SomeOf` that are not `None`; nothing for any other object."""
    if not isinstance(value, SomeOf):
        return ()
    parts = (getattr(value, name, None) for name in get_field_names(type(value)))
    return tuple(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """Settings of `@state`. With `preserve`, entering the state removes only older states."""

    preserve: bool


def get_state_declaration(kind: type) -> StateDeclaration | None:
    """Return the settings of `@state` on the class or one of its bases; `None` for a class that is not a state."""
    declared = getattr(kind, STATE, None)
    return declared if isinstance(declared, StateDeclaration) else None


def preserves_blackboard(kind: type) -> bool:
    """Return whether the class is a state that leaves the blackboard as it is."""
    declared = get_state_declaration(kind)
    return declared is not None and declared.preserve


@dataclass(frozen=True, slots=True)
class Bound:
    """An object, and the name under which it goes onto the blackboard."""

    value: object
    binding: str


def with_named(objects: Iterable[object], named: Named | None) -> tuple[object, ...]:
    """Return what a process begins with: the objects, and then those that have names.

    Raises:
        ConfigurationError: when one of the names is not the name of a parameter.
    """
    known = named or {}
    for name in known:
        if not _is_name(name):
            raise ConfigurationError(f"{name!r} is no name for an object: use the name of a parameter")
    return (*objects, *(Bound(value, name) for name, value in known.items()))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != DEFAULT_BINDING
