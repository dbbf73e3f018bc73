"""JSON forms of values, as their types define them: unchecked, so a value may be read back differently."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

import pydantic


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
