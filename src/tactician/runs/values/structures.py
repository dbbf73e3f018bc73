"""Structures of values: the parts of which dataclasses, models, sequences, dictionaries and sets consist."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, cast

import pydantic
from typing_extensions import override

from tactician.model_classes import is_model_class

MISSING: Final = object()
"""Stands for a part that is not there."""


class Structure(ABC):
    """Way in which the values of a type consist of parts with names."""

    has_keys = False
    """True when the names are values themselves: the keys of a dictionary, or the elements of a set."""

    @abstractmethod
    def names(self, value: object) -> Sequence[object]:
        """Return the names of the parts of a value."""

    @abstractmethod
    def parts(self, value: object, names: Sequence[object]) -> Sequence[object]:
        """Return the parts of a value with these names; `MISSING` for an attribute that it does not have."""

    @abstractmethod
    def label(self, name: object) -> str:
        """Return how a path names a part."""

    def is_private(self, name: object) -> bool:
        """Return whether a part belongs to the value, but not to its JSON form."""
        return False


def find_structure(kind: type) -> Structure | None:
    """Return the structure of the values of a type; `None` for values without parts."""
    return _find_structure(kind)


@lru_cache(maxsize=4096)
def _find_structure(kind: type) -> Structure | None:
    if issubclass(kind, Enum):
        return None
    if is_model_class(kind):
        return _Model(tuple(kind.model_fields))
    if is_dataclass(kind):
        names = tuple(field.name for field in fields(kind))
        return _Attributes(names) if "__dataclass_fields__" in vars(kind) else _Extended(names)
    return next((structure for base, structure in _STRUCTURES.items() if issubclass(kind, base)), None)


class _Attributes(Structure):
    """Structure of a dataclass: the fields."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    @override
    def names(self, value: object) -> Sequence[object]:
        return self._names

    @override
    def parts(self, value: object, names: Sequence[object]) -> Sequence[object]:
        return [getattr(value, name, MISSING) for name in cast("Sequence[str]", names)]

    @override
    def label(self, name: object) -> str:
        return f".{name}"


class _Extended(_Attributes):
    """Structure of a subclass of a dataclass that is not a dataclass itself: the fields, and what it has added."""

    @override
    def names(self, value: object) -> Sequence[object]:
        class_names = {name for kind in type(value).__mro__ for name in vars(kind)}  # such as a cached property
        added = (
            name for name in getattr(value, "__dict__", ()) if name not in class_names and not name.startswith("__")
        )
        return tuple(dict.fromkeys((*self._names, *added)))


class _Model(_Attributes):
    """Structure of a pydantic model: the fields, extra ones too, and the private attributes."""

    @override
    def names(self, value: object) -> Sequence[object]:
        model = cast("pydantic.BaseModel", value)
        extra, private = model.__pydantic_extra__, model.__pydantic_private__
        return (*self._names, *(extra or ()), *(private or ())) if extra or private else self._names

    @override
    def is_private(self, name: object) -> bool:
        return cast("str", name).startswith("_")


class _Sequence(Structure):
    """Structure of a list, a tuple or a deque: the items."""

    @override
    def names(self, value: object) -> Sequence[object]:
        return range(len(cast("Sequence[object]", value)))

    @override
    def parts(self, value: object, names: Sequence[object]) -> Sequence[object]:
        return cast("Sequence[object]", value)

    @override
    def label(self, name: object) -> str:
        return f"[{name}]"


class _Mapping(Structure):
    """Structure of a dictionary: the values, by their keys."""

    has_keys = True

    @override
    def names(self, value: object) -> Sequence[object]:
        return tuple(cast("Mapping[object, object]", value))

    @override
    def parts(self, value: object, names: Sequence[object]) -> Sequence[object]:
        return list(map(cast("Mapping[object, object]", value).__getitem__, names))

    @override
    def label(self, name: object) -> str:
        return f"[{name!r}]"


class _Set(Structure):
    """Structure of a set: the elements, as keys without values."""

    has_keys = True

    @override
    def names(self, value: object) -> Sequence[object]:
        return tuple(cast("Set[object]", value))

    @override
    def parts(self, value: object, names: Sequence[object]) -> Sequence[object]:
        return ()

    @override
    def label(self, name: object) -> str:
        return ""


_STRUCTURES: Final[Mapping[type, Structure]] = {
    **dict.fromkeys((list, tuple, deque), _Sequence()),
    dict: _Mapping(),
    **dict.fromkeys((set, frozenset), _Set()),
}
