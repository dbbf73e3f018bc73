"""`SomeOf`: a result of several parts, any of which may be missing."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass

from pydantic import BaseModel


class SomeOf:
    """Base class of what an action returns when it gives one or more of several objects.

    Each field that is not `None` is put onto the blackboard by itself, after the whole. A dataclass, a pydantic model
    or a plain class with annotations will do.
    """


def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a subclass of `SomeOf`."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    if issubclass(kind, BaseModel):
        return tuple(kind.model_fields)
    annotated = (name for base in reversed(kind.__mro__) for name in inspect.get_annotations(base))
    return tuple(dict.fromkeys(name for name in annotated if not name.startswith("_")))


def parts_of(value: object) -> tuple[object, ...]:
    """The parts of a `SomeOf` that are there; nothing for any other object."""
    if not isinstance(value, SomeOf):
        return ()
    parts = (getattr(value, name, None) for name in field_names(type(value)))
    return tuple(part for part in parts if part is not None)
