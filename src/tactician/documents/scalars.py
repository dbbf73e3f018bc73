"""Unquoted texts as values, by the core schema of YAML 1.2: in YAML, and in environment variables."""

from __future__ import annotations

import re

from tactician.documents.data import UnreadableTextError
from tactician.documents.json_text import parse_float

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def parse_scalar(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted text: `yes` is a text, and so is `2026-01-01`.

    Raises:
        UnreadableTextError: when the text is a number that is too large.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        try:
            return int(text)
        except ValueError:  # thousands of digits
            raise UnreadableTextError(f"{text[:40]} is too large a number") from None
    return parse_float(text) if _FLOAT.fullmatch(text) else text


def is_plain_text(text: str) -> bool:
    """Return whether an unquoted text stands for itself."""
    return not any(pattern.fullmatch(text) for pattern in (_NULL, _TRUE, _FALSE, _FLOAT))
