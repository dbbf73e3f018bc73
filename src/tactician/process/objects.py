"""Objects that a process begins with, and those that mean something to every process."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.model_classes import is_model_class
from tactician.process.stored_types import formerly

DEFAULT_BINDING: Final = "it"
STATE: Final = "__tactician_state__"
Named: TypeAlias = Mapping[str, object]
"""Objects by the names under which they go onto a blackboard."""


@formerly("tactician.process.blackboard.UserInput")
@frozen
class UserInput:
    """Text that a person typed, and the time."""

    content: str
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)


@formerly("tactician.process.blackboard.Rejection")
@frozen
class Rejection:
    """Rejection by a person of what an action asked.

    An action with a parameter of this type is another way to continue.

    Attributes:
        action: the action that asked.
        prompt: what it asked.
        reason: why not; may be empty.
    """

    action: str
    prompt: str
    reason: str = ""


class SomeOf:
    """Base class of results with optional fields, of which an action sets some.

    Each field that is not `None` is put onto the blackboard by itself, after the whole. A dataclass, a pydantic model
    or a plain class with annotations will do.
    """


def get_field_names(kind: type) -> tuple[str, ...]:
    """Return the fields of a subclass of `SomeOf`."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    if is_model_class(kind):
        return tuple(kind.model_fields)
    annotated = (name for base in reversed(kind.__mro__) for name in inspect.get_annotations(base))
    return tuple(dict.fromkeys(name for name in annotated if not name.startswith("_")))


def get_parts(value: object) -> tuple[object, ...]:
    """Return the parts of a `SomeOf` that are not `None`; nothing for any other object."""
    if not isinstance(value, SomeOf):
        return ()
    parts = (getattr(value, name, None) for name in get_field_names(type(value)))
    return tuple(part for part in parts if part is not None)


@frozen
class StateDeclaration:
    """Settings of `@state`. With `preserve`, entering the state removes only older states."""

    preserve: bool


def get_state_declaration(kind: type) -> StateDeclaration | None:
    """Return the settings of `@state` on the class or a base class; `None` for a class that is not a state."""
    for base in kind.__mro__:  # classes of pydantic take long to say that they have no attribute
        if isinstance(declared := base.__dict__.get(STATE), StateDeclaration):
            return declared
    return None


def preserves_blackboard(kind: type) -> bool:
    """Return whether the class is a state that leaves the blackboard as it is."""
    declared = get_state_declaration(kind)
    return declared is not None and declared.preserve


@frozen
class Bound:
    """An object, and the name under which it goes onto the blackboard."""

    value: object
    binding: str


def with_named(objects: Iterable[object], named: Named | None) -> tuple[object, ...]:
    """Return what a process begins with: the objects, and then those that have names.

    Raises:
        ConfigurationError: when no parameter has a name.
    """
    named_objects = named or {}
    for name in named_objects:
        if not _is_name(name):
            raise ConfigurationError(f"{name!r} is not a valid name for an object: use the name of a parameter")
    return (*objects, *(Bound(value, name) for name, value in named_objects.items()))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name != DEFAULT_BINDING
