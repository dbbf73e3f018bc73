"""Events in the form in which they are stored and sent: without secrets, and as far as the run is captured."""

from __future__ import annotations

import base64
import re
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic_core import to_json

from tactician.events import Event, event_to_json
from tactician.secrets import Masking
from tactician.trace.capture import CaptureMode
from tactician.trace.sharing import replace_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    _Fields: TypeAlias = dict[str, JsonValue]

CONTENT_NAME: Final = "sha256:"
"""Beginning of the names of images and files in events that do not have them."""
_SAFE: Final = frozenset({"type", "run_id", "parent_id", "path", "id", "time", "span_id"})
_BINARY: Final = "data"
_LONGEST_BINARY: Final = 511
"""Characters of base64 that an event keeps: stores of documents keep longer ones once, by the hash of the content."""
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/]{{{_LONGEST_BINARY},}}={{0,2}}")


def write_event(
    event: Event,
    capture: CaptureMode,
    masking: Masking,
    *,
    is_brief: bool = False,
    longest_text: int | None = None,
    prepare: Callable[[JsonValue], JsonValue] | None = None,
) -> str:
    """Return an event as JSON text with masks for secrets.

    Args:
        event: the event.
        capture: mode of its run: with `OFF`, the words of people, models and tools are left out.
        masking: masks.
        is_brief: true to leave out what earlier events of the run have too.
        longest_text: number of characters after which texts are cut, and images and files replaced by their names.
        prepare: function that changes the JSON values of the event before anything else.
    """
    values = event_to_json(event.abbreviate() if is_brief else event)
    if prepare is not None and isinstance(prepared := prepare(values), dict):
        values = prepared
    if capture is CaptureMode.OFF:
        for path in event.content_fields:
            _empty(values, path)
    change = partial(_change, masking, longest_text)
    safe = {name: value for name, value in values.items() if name in _SAFE}
    others = {name: replace_texts(value, name, change) for name, value in values.items() if name not in _SAFE}
    return to_json(safe | others).decode()


def _empty(values: _Fields, path: str) -> None:
    """Replace the value at a path by an empty value of its kind."""
    name, _, rest = path.partition(".")
    value = values.get(name)
    if rest and isinstance(value, dict):
        _empty(value, rest)
    elif not rest and name in values:
        values[name] = "" if isinstance(value, str) else [] if isinstance(value, list) else None


def name_content(data: str) -> str:
    """Return the name of an image or file in base64: the hash of its content. A name stays as it is."""
    if data.startswith(CONTENT_NAME):
        return data
    try:
        content = base64.b64decode(data)
    except ValueError:
        content = data.encode()
    return f"{CONTENT_NAME}{sha256(content).hexdigest()}"


def _change(masking: Masking, longest: int | None, text: str, name: str) -> str:
    if longest is not None and name == _BINARY and _BASE64.fullmatch(text):
        return name_content(text)
    if longest is None or len(text) <= longest:
        return masking.mask(text, name)
    return f"{masking.mask(text[: 2 * longest], name)[:longest]}… ({len(text):,} characters)"
