"""Values as JSON, and back: what is written reads back equal, or is refused."""

from __future__ import annotations

from typing import Final

import pydantic
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tactician.errors import StoredStateError
from tactician.runs.values.differences import (
    ValueDifference,
    find_difference,
    locate_part,
    read_json_form,
    write_json_form,
)
from tactician.runs.values.structures import MISSING, find_structure
from tactician.text import describe_error

_MAX_TEXT: Final = 80
_KEYS: Final = "The keys of a JSON object are text: use text as keys, or a list of pairs."
_NESTING: Final = "Nothing in it may contain itself, or be nested too deeply: use ids instead of objects."
_BYTES: Final = 'Set `ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")` in the class whose field it is.'
_SECRET: Final = "A secret is stored masked: keep it in the environment, or in an attribute of the agent."
_UNFAITHFUL: Final = "Let its type read back all that it writes."


def refuse_unwritable(value: object, error: Exception) -> StoredStateError:
    """Return the refusal of a value that has no JSON form."""
    path, part = locate_part(value, _is_unwritable)
    remedy = f"Make {type(part).__name__} a dataclass or a pydantic model."
    if isinstance(part, bytes):
        remedy = _BYTES
    elif find_structure(type(part)) is not None:
        remedy = _KEYS if isinstance(error, TypeError) else _NESTING
    reason = str(error).partition("\n")[0].partition(". ")[0]  # what pydantic says next would not help
    return _refuse(value, path, f"{type(part).__name__} has no JSON form ({reason})", remedy)


def refuse_text(value: object) -> StoredStateError:
    """Return the refusal of a value with a text that is not valid Unicode."""
    path, part = locate_part(value, _is_invalid_text)
    return _refuse(value, path, f"{_shorten(ascii(part))} has half of a surrogate pair", "Remove it.")


def refuse_unreadable(value: object, error: Exception) -> StoredStateError:
    """Return the refusal of a value whose JSON form is not valid for its type."""
    reason = describe_invalid(error)
    remedy = _KEYS if "[key]" in reason else _UNFAITHFUL
    return _refuse(value, "", f"its JSON form could not be read again ({reason})", remedy)


def refuse_difference(value: object, difference: ValueDifference) -> StoredStateError:
    """Return the refusal of a value that would be read back differently."""
    return _refuse(value, difference.path, _describe(difference), _advise(difference))


def describe_invalid(error: Exception) -> str:
    """Return what is invalid, and where: the innermost problem of a validation, without the input: it may be secret."""
    if not isinstance(error, pydantic.ValidationError):
        return describe_error(error)
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    innermost = max(problems, key=lambda problem: len(problem["loc"]))
    return ": ".join(filter(None, (".".join(map(str, innermost["loc"])), innermost["msg"])))


def _refuse(value: object, path: str, problem: str, remedy: str) -> StoredStateError:
    return StoredStateError(f"`{type(value).__name__}{_shorten(path)}` cannot be stored: {problem}. {remedy}")


def _describe(difference: ValueDifference) -> str:
    kind, read = type(difference.value), difference.read
    if difference.place == "key":
        return f"its key or element of the type {kind.__name__} would be read back as another value"
    if read is MISSING:
        return "it would not be read back"
    if kind is not type(read):
        return f"it is of the type {kind.__name__}, and would be read back as {type(read).__name__}"
    return "it would be read back as " + ("another value" if find_structure(kind) else _shorten(repr(read)))


def _advise(difference: ValueDifference) -> str:
    value, read = difference.value, difference.read
    kind, other = type(value), type(read)
    if difference.place == "private attribute":
        return "Private attributes are not stored: make it a field, or leave it as a new object has it."
    if difference.place == "key":
        return f"Declare its type, as in `dict[{kind.__name__}, ...]` or `set[{kind.__name__}]`, or use text."
    if isinstance(value, pydantic.SecretStr | pydantic.SecretBytes):
        return _SECRET
    if kind is other or read is MISSING:
        return _UNFAITHFUL
    if issubclass(kind, other) and other.__module__ != "builtins":
        return f"Declare it as `{kind.__name__} | {other.__name__}`, with a `Literal` field in each to tell them apart."
    return f"Declare it as `{kind.__name__}`, or convert it to `{other.__name__}`."


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def _is_unwritable(part: object) -> bool:
    try:
        to_jsonable_python(part)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        return True
    return False


def _is_invalid_text(part: object) -> bool:
    try:
        to_json(part, fallback=lambda _: None)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError):
        return True
    return False


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
