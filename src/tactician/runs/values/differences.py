"""JSON forms of values, as their types define them, and what differs in a value that is read back from its form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from types import NoneType
from typing import Final, Literal, TypeAlias

import pydantic

from tactician.frozen import frozen
from tactician.runs.values.structures import MISSING, Structure, find_structure

_LEAVES: Final = frozenset({str, int, float, bool, bytes, NoneType})
Place: TypeAlias = Literal["value", "key", "private attribute"]


def write_json_form(value: object, kind: object) -> pydantic.JsonValue:
    """Return the JSON form of a value. Its fields have their own names there, not their aliases.

    Raises:
        Exception: when it has none; any, as types may bring code of their own.
    """
    plain: pydantic.JsonValue = _create_adapter(kind).dump_python(
        value, mode="json", by_alias=False, round_trip=True, warnings=False
    )
    return plain


def read_json_form(text: bytes, kind: object) -> object:
    """Return the value of a JSON form that was written as text.

    Raises:
        Exception: when it is not a value of the type; any exception, as types may bring code of their own.
    """
    return _create_adapter(kind).validate_json(text, by_alias=False, by_name=True)


@lru_cache(maxsize=1024)
def _create_adapter(kind: Hashable) -> pydantic.TypeAdapter[object]:
    return pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable


@frozen
class ValueDifference:
    """Place where a value and its copy that was read back differ.

    Attributes:
        path: where, seen from the outermost value, as in `.dogs[0].owner`.
        value: part of the value there; `MISSING` when it has none.
        read: part of what was read back; `MISSING` when it has none.
        place: kind of the place. The path of a key, or of an element of a set, is the path of the dictionary or the
            set.
    """

    path: str
    value: object
    read: object
    place: Place = "value"


def find_difference(value: object, read: object) -> ValueDifference | None:
    """Return the first difference between a value and its copy that was read back; `None` when they are equal.

    Types must be the same everywhere, except that an `int` may be read back as the equal `float`: for type checkers,
    so is an `int`. Dataclasses, models, sequences, dictionaries and sets are compared part by part, whatever their
    `==` does, and all else by `==`. NaN equals itself.
    """
    kind = type(value)
    if kind is not type(read):
        is_promoted = kind is int and type(read) is float and value == read
        return None if is_promoted else ValueDifference("", value, read)
    if kind in _LEAVES or (structure := find_structure(kind)) is None:
        return None if _are_equal(value, read) else ValueDifference("", value, read)
    return _compare_parts(structure, value, read)


def locate_part(value: object, is_wrong: Callable[[object], bool]) -> tuple[str, object]:
    """Return the path and the innermost part of a value that is wrong, where the value as a whole is wrong."""
    path, seen = "", {id(value)}
    while (inner := _find_part(value, is_wrong)) is not None and id(inner[1]) not in seen:
        label, value = inner
        path += label
        seen.add(id(value))
    return path, value


def _find_part(value: object, is_wrong: Callable[[object], bool]) -> tuple[str, object] | None:
    if (structure := find_structure(type(value))) is None:
        return None
    names = structure.names(value)
    keys = (("", name) for name in names) if structure.has_keys else ()
    parts = zip(map(structure.label, names), structure.parts(value, names), strict=False)
    return next((inner for inner in (*keys, *parts) if inner[1] is not MISSING and is_wrong(inner[1])), None)


def _compare_parts(structure: Structure, value: object, read: object) -> ValueDifference | None:
    names, others = structure.names(value), structure.names(read)
    if len(names) != len(others):
        return ValueDifference("", value, read)
    if not names:
        return None
    if structure.has_keys and (difference := _compare_keys(names, others)) is not None:
        return difference
    for name, part, other in zip(names, structure.parts(value, names), structure.parts(read, names), strict=False):
        kind = type(part)
        if part is other or (kind in _LEAVES and kind is type(other) and part == other):
            continue  # the usual case, without a call
        if (difference := find_difference(part, other)) is not None:
            place: Place = "private attribute" if structure.is_private(name) else difference.place
            return replace(difference, path=structure.label(name) + difference.path, place=place)
    return None


def _compare_keys(names: Sequence[object], others: Sequence[object]) -> ValueDifference | None:
    keys_by_value = dict(zip(others, others, strict=True))
    for name in names:
        if find_difference(name, other := keys_by_value.get(name, MISSING)) is not None:
            return ValueDifference("", name, other, "key")
    return None


def _are_equal(value: object, read: object) -> bool:
    """Return whether two values of the same type are equal. Where there is no `==`, their JSON forms decide."""
    try:
        if value == read or (value != value and read != read):
            return True
    except Exception:
        return _have_equal_json(value, read)
    has_equality = isinstance(value, Enum) or type(value).__eq__ is not object.__eq__
    return not has_equality and _have_equal_json(value, read)


def _have_equal_json(value: object, read: object) -> bool:
    """Return whether two values have the same JSON form: for types that have no `==` of their own."""
    try:
        return write_json_form(value, type(value)) == write_json_form(read, type(read))
    except Exception:
        return False
