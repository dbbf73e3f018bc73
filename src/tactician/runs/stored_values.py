"""Values as JSON, and back: what is written reads back equal, or is refused."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from tactician.errors import StoredStateError
from tactician.runs.differences import find_difference
from tactician.runs.refusals import (
    describe_invalid,
    refuse_difference,
    refuse_text,
    refuse_unreadable,
    refuse_unwritable,
)

_WRITING_ERRORS: Final = (
    PydanticUserError,
    PydanticUndefinedAnnotation,
    PydanticSerializationError,
    ValueError,
    TypeError,
    RecursionError,
)


def encode_value(value: object, kind: object = None) -> JsonValue:
    """Return a value as JSON that `decode_value` reads back as an equal value, with equal types everywhere.

    Args:
        value: the value.
        kind: declared type to write the value as; its own type, when `None`.

    Raises:
        StoredStateError: when the value has no JSON form, or would be read back as another one. The message names the
            place in the value, and what to do.
    """
    try:
        adapter = _create_adapter(type(value) if kind is None else kind)
        plain: JsonValue = adapter.dump_python(value, mode="json", by_alias=False, round_trip=True, warnings=False)
    except UnicodeEncodeError as error:  # of a key
        raise refuse_text(value) from error
    except _WRITING_ERRORS as error:
        raise refuse_unwritable(value, error) from error
    try:
        text = to_json(plain)
    except PydanticSerializationError as error:
        raise refuse_text(value) from error
    try:
        difference = find_difference(value, _read(adapter, text))
    except ValidationError as error:
        raise refuse_unreadable(value, error) from error
    if difference is not None:
        raise refuse_difference(value, difference)
    return plain


def decode_value(saved: JsonValue, kind: object) -> object:
    """Return the value that `encode_value` wrote as JSON for a type.

    Raises:
        StoredStateError: when it is not valid.
    """
    try:
        return _read(_create_adapter(kind), to_json(saved))
    except ValidationError as error:
        raise StoredStateError(describe_invalid(error)) from error


def _read(adapter: TypeAdapter[object], text: bytes) -> object:
    """Return the value of a JSON text whose fields have their own names, not their aliases."""
    return adapter.validate_json(text, by_alias=False, by_name=True)


@lru_cache(maxsize=1024)
def _create_adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable
