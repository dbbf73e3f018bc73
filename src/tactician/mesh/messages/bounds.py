"""Bounds of messages that others send: bytes, depth, and number of values."""

from __future__ import annotations

import json
from typing import Final, TypeAlias

import pydantic_core
from pydantic import JsonValue

from tactician.mesh.messages.message import MAX_BYTES

MAX_DEPTH: Final = 60
"""Levels of nested lists and objects; JSON parsers of other languages have limits from 64 up."""
MAX_VALUES: Final = 100_000
"""Number of values and names in a message."""

JsonObject: TypeAlias = dict[str, JsonValue]


class MessageError(ValueError):
    """Error for a message that cannot be accepted.

    Attributes:
        reason: reason of the rejection, as a reply to the sender gives it.
        request_id: id of the request, as far as it can be read.
        reply_to: queue of the sender, as far as it can be read.
    """

    def __init__(
        self, message: str, *, reason: str = "invalid_input", request_id: str = "", reply_to: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.request_id = request_id
        self.reply_to = reply_to


def parse_bounded(text: bytes) -> JsonObject:
    """Return the JSON object of a message.

    Raises:
        MessageError: when it is no JSON object, or is too long, too deep or has too many values.
    """
    if len(text) > MAX_BYTES:
        raise MessageError(f"The message has {len(text):,} bytes, and {MAX_BYTES:,} are allowed.", reason="too_large")
    try:
        parsed = pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise MessageError(f"The message is not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise MessageError("The message is not a JSON object.")
    check_values(parsed)
    return parsed


def check_values(value: JsonValue) -> None:
    """Check the depth and the number of values.

    Raises:
        MessageError: when there are too many.
    """
    level, depth, count = [value], 0, 0
    while level:
        if (depth := depth + 1) > MAX_DEPTH:
            raise MessageError(
                f"The message has more than {MAX_DEPTH} levels of lists and objects.", reason="too_large"
            )
        if (count := count + len(level)) > MAX_VALUES:
            raise MessageError(f"The message has more than {MAX_VALUES:,} values.", reason="too_large")
        parents = [parent for parent in level if isinstance(parent, dict | list)]
        level = [part for parent in parents for part in (parent.values() if isinstance(parent, dict) else parent)]


def write_canonical(value: JsonValue) -> bytes:
    """Return JSON in the form that signatures cover: names in order, no spaces, no escapes of letters."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
