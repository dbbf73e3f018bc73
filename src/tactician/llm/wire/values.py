"""Reads values of JSON that somebody else wrote. Each raises `TypeError` for what is of another kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def string(value: object) -> str:
    """A string."""
    if isinstance(value, str):
        return value
    raise TypeError(f"a string is needed, not {str(value)[:100]!r}")


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object."""
    if isinstance(value, dict):
        return value
    raise TypeError(f"a JSON object is needed, not {type(value).__name__}")


def mappings(value: object) -> Sequence[Mapping[str, object]]:
    """A list of JSON objects."""
    if isinstance(value, list | tuple):
        return [mapping(one) for one in value]
    raise TypeError(f"a list is needed, not {type(value).__name__}")


def count(value: object) -> int:
    """A number of tokens; 0 when it is left out."""
    if value is None:
        return 0
    if isinstance(value, int | float) and value == value and abs(value) < 1e15:
        return max(0, int(value))
    raise TypeError(f"a number of tokens is needed, not {str(value)[:100]!r}")
