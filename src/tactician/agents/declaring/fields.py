"""What the objects of a class certainly do not have."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass

from pydantic import BaseModel

_HOOKS = frozenset(("__getattr__", "__getattribute__"))


def fields_of(kind: type) -> frozenset[str]:
    """The names that a class and its bases have annotations for."""
    return frozenset(name for base in kind.__mro__ for name in inspect.get_annotations(base))


def lacks(kind: type, name: str) -> bool:
    """Whether no object of the class has the attribute: only data classes and models say what they have."""
    if hasattr(kind, name) or name in fields_of(kind):
        return False
    own = {member for base in kind.__mro__ if base not in (object, BaseModel) for member in vars(base)}
    if issubclass(kind, BaseModel):
        return kind.model_config.get("extra") != "allow" and own.isdisjoint(_HOOKS)
    return is_dataclass(kind) and "__dataclass_fields__" in vars(kind) and own.isdisjoint({*_HOOKS, "__post_init__"})
