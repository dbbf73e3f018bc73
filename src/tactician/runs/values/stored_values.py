"""Values as JSON, and back: what is written reads back equal, or is refused."""

from __future__ import annotations

import pydantic
from pydantic_core import PydanticSerializationError, to_json

from tactician.errors import StoredStateError
from tactician.runs.values.differences import find_difference, read_json_form, write_json_form
from tactician.runs.values.refusals import (
    describe_invalid,
    refuse_difference,
    refuse_text,
    refuse_unreadable,
    refuse_unwritable,
)


def encode_value(value: object, kind: object = None) -> pydantic.JsonValue:
    """Return a value as JSON that `decode_value` reads back as an equal value, with equal types everywhere.

    Args:
        value: the value.
        kind: declared type to write the value as; its own type, when `None`.

    Raises:
        StoredStateError: when the value has no JSON form, or would be read back differently. The message names the
            place in the value, and what to do.
    """
    declared = type(value) if kind is None else kind
    plain, text = _write(value, declared)
    try:
        difference = find_difference(value, read_json_form(text, declared))
    except Exception as error:
        raise refuse_unreadable(value, error) from error
    if difference is not None:
        raise refuse_difference(value, difference)
    return plain


def decode_value(saved: pydantic.JsonValue, kind: object) -> object:
    """Return the value that `encode_value` wrote as JSON for a type.

    Raises:
        StoredStateError: when it is not valid.
    """
    try:
        return read_json_form(to_json(saved), kind)
    except Exception as error:
        raise StoredStateError(describe_invalid(error)) from error


def _write(value: object, kind: object) -> tuple[pydantic.JsonValue, bytes]:
    """Return the JSON form of a value, also as text.

    Raises:
        StoredStateError: when it has none, or has an invalid text.
    """
    try:
        plain = write_json_form(value, kind)
    except UnicodeEncodeError as error:  # of a key
        raise refuse_text(value) from error
    except Exception as error:
        raise refuse_unwritable(value, error) from error
    try:
        return plain, to_json(plain)
    except PydanticSerializationError as error:
        raise refuse_text(value) from error
