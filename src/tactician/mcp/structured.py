"""Results of tools as data: structured content, and texts that are JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json

from tactician.context_format import write_json
from tactician.tools.tool import as_text

_WRAPPER: Final = "result"
"""The name under which servers wrap what is not an object."""


def unwrap(structured: Mapping[str, object]) -> object:
    """Return structured content without the object in which servers wrap lists, texts and numbers."""
    return structured[_WRAPPER] if structured.keys() == {_WRAPPER} else structured


def unwrap_schema(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema of what `unwrap` returns, with its definitions."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or properties.keys() != {_WRAPPER}:
        return schema
    inner = properties[_WRAPPER]
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**inner, **definitions} if isinstance(inner, Mapping) else schema


def find_value(texts: Sequence[str], structured: Mapping[str, object] | None) -> object | None:
    """Return the value that the texts of a result write as JSON; `None` when they are text for readers.

    A list has many forms: structured content with a text for each item, or such texts only. They all give a list.

    Args:
        texts: the texts of the result.
        structured: its structured content.
    """
    if structured is None:
        items = list(map(_parse, texts))
        return items if len(items) > 1 and all(isinstance(item, dict | list) for item in items) else None
    if len(texts) == 1 and _parse(texts[0]) == structured:
        return structured
    value = unwrap(structured)
    if not texts or (len(texts) == 1 and _says(texts[0], value)):
        return value
    if isinstance(value, list) and len(value) == len(texts) and all(map(_says, texts, value)):
        return value
    return None


def write_result(texts: Sequence[str], structured: Mapping[str, object] | None) -> str | None:
    """Return a result for a script as JSON, and a text as it is; `None` when it has no data."""
    if structured is not None:
        return as_text(unwrap(structured))
    value = find_value(texts, None)
    return None if value is None else write_json(value)


def _says(text: str, value: object) -> bool:
    """Return whether a text is a value, or the JSON of it."""
    return text == value or (not isinstance(value, str) and _parse(text) == value)


def _parse(text: str) -> JsonValue:
    """Return the value of JSON text; the text itself, when it is not JSON."""
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        return text
    return value
