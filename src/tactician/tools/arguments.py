"""Repair of tool arguments that are not valid JSON although their meaning is clear."""

from __future__ import annotations

import pydantic
from pydantic_core import from_json, to_json

from tactician.text import replace_surrogates, strip_code_fence

_LONGEST = 1_000_000
_LONGEST_REPAIR = 100_000
"""Number of characters that are repaired: each takes some microseconds, in which nothing else runs."""


def repair_arguments(arguments: str) -> str | None:
    """Return the arguments as valid JSON, or `None` when they cannot be repaired.

    Code fences are removed, JSON inside a string is unpacked, and mistakes such as a trailing comma, single quotes or a
    missing brace are repaired. Arguments that break off inside a value are not, since their end is unknown, and neither
    are mistakes in very long arguments.
    """
    if len(arguments) > _LONGEST:
        return None
    written = replace_surrogates(arguments)
    text = written if (fenced := strip_code_fence(written)) is None else fenced
    try:
        value: pydantic.JsonValue = from_json(text)
    except ValueError:
        value = _repair_text(text)
    unpacked = _unpack(value)
    if not isinstance(unpacked, dict):
        return None
    unpacked = {name: _unpack(item) for name, item in unpacked.items()}
    return None if (repaired := to_json(unpacked).decode()) == arguments else repaired


def _repair_text(text: str) -> pydantic.JsonValue:
    if len(text) > _LONGEST_REPAIR or "{" not in text or not text.rstrip().endswith(("}", "]", '"', "'", ",")):
        return None
    from json_repair import repair_json

    try:
        repaired: pydantic.JsonValue = from_json(repair_json(text))
    except (ValueError, RecursionError):
        return None
    return repaired


def _unpack(value: pydantic.JsonValue) -> pydantic.JsonValue:
    """Return an object or a list that was written as a string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            unpacked: pydantic.JsonValue = from_json(value)
        except ValueError:
            return value
        return unpacked
    return value
