"""Attachments of stored texts: pictures and documents in base64, which a database keeps once, by their content.

A text has the name of an attachment in the place of its base64. Restored, the text is the same as before.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from hashlib import sha256
from re import Match
from typing import Final

_MARK: Final = "attachment:sha256:"
_SHORTEST: Final = 512
_FIELD: Final = '"data":'
_DATA: Final = re.compile(rf'("data":\s?")([A-Za-z0-9+/]{{{_SHORTEST},}}={{0,2}})(?=")')
_NAME: Final = re.compile(rf'("data":\s?"){_MARK}([0-9a-f]{{64}})(?=")')


def extract_attachments(text: str) -> tuple[str, dict[str, bytes]]:
    """Return a JSON text without its attachments, and these by their names."""
    attachments: dict[str, bytes] = {}
    if _FIELD not in text:
        return text, attachments

    def replace(match: Match[str]) -> str:
        content = _decode(match[2])
        if content is None:
            return match[0]
        name = sha256(content).hexdigest()
        attachments[name] = content
        return f"{match[1]}{_MARK}{name}"

    return _DATA.sub(replace, text), attachments


def find_attachments(text: str) -> frozenset[str]:
    """Return the names of the attachments of a text."""
    return frozenset(match[2] for match in _NAME.finditer(text)) if _MARK in text else frozenset()


def restore_attachments(text: str, attachments: Mapping[str, bytes]) -> str:
    """Return a text with its attachments. A name that is not among them stays as it is."""

    def replace(match: Match[str]) -> str:
        content = attachments.get(match[2])
        return match[0] if content is None else match[1] + base64.b64encode(content).decode("ascii")

    return _NAME.sub(replace, text)


def _decode(text: str) -> bytes | None:
    """Return what a text means in base64; `None` when the text could not be restored from it."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return content if base64.b64encode(content).decode("ascii") == text else None
