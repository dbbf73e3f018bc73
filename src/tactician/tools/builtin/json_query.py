"""Query of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tactician.errors import ToolError
from tactician.grammar import format_count
from tactician.suggestions import did_you_mean
from tactician.tools.function import tool

Key: TypeAlias = str | int | slice
_MAX_PATH: Final = 1_000
_MAX_KEYS: Final = 20
_MAX_KEY: Final = 100
_ALL: Final = slice(None)
_PART: Final = re.compile(
    r"""\.?(?P<name>[^\s.\[\]"'*]+)
    | \[\s*(?P<index>-?\d{1,9})\s*\]
    | \[\s*(?P<first>-?\d{1,9})?\s*:\s*(?P<last>-?\d{1,9})?\s*\]
    | \[\s*(?P<quoted>"(?:[^"\\]|\\.)*")\s*\]
    | \[\s*'(?P<single>[^']*)'\s*\]
    | (?P<all>\[\s*\*\s*\]|\.?\*)""",
    re.VERBOSE | re.ASCII,
)
MAX_DATA: Final = 5_000_000
"""Characters of JSON text."""


def find_value(data: JsonValue, path: str) -> JsonValue:
    """Return what a path leads to.

    `[*]` stands for all items of a list or all values of an object, and `[1:3]` for some items. The rest of the path
    is then applied to each; items that do not have it are left out.

    Raises:
        ToolError: when the path is not valid, or leads nowhere.
    """
    keys = _parse(path)
    try:
        return _follow(data, keys, 0)
    except _DeadEndError as error:
        raise ToolError(_explain(error)) from None


class _DeadEndError(Exception):
    """Key that leads nowhere. Its message is written only when somebody reads it: many items may not have a key."""

    def __init__(self, data: JsonValue, key: Key, before: Sequence[Key]) -> None:
        super().__init__(key)
        self.data = data
        self.key = key
        self.before = before


def _parse(path: str) -> list[Key]:
    if len(path) > _MAX_PATH:
        raise ToolError(f"The path is longer than {_MAX_PATH} characters.")
    text = path.strip()
    place = 1 if re.match(r"\$(?=[.\[]|$)", text) else 0
    keys = []
    while place < len(text):
        match = _PART.match(text, place)
        if match is None or (place and match["name"] and match[0][0] != "."):
            raise ToolError(f"The path {path!r} is not valid at {text[place:][:20]!r}. Write it like items[1].name.")
        keys.append(_read_key(match))
        place = match.end()
    return keys


def _read_key(match: re.Match[str]) -> Key:
    if match["all"]:
        return _ALL
    if (index := match["index"]) is not None:
        return int(index)
    if (quoted := match["quoted"]) is not None:
        return _unquote(quoted)
    if (name := match["name"] or match["single"]) is not None:
        return name
    return slice(*(int(bound) if bound else None for bound in (match["first"], match["last"])))


def _unquote(text: str) -> str:
    try:
        return str(from_json(text))
    except ValueError as error:
        raise ToolError(f"The path has {text[:20]}, which is not valid JSON text.") from error


def _follow(data: JsonValue, keys: Sequence[Key], done: int) -> JsonValue:
    """Return what the keys lead to, of which the first `done` lead to the data."""
    for place in range(done, len(keys)):
        key = keys[place]
        if isinstance(key, slice):
            items = _list_items(data, keys, place)
            return items if place + 1 == len(keys) else list(_map(items, keys, place + 1))
        data = _get(data, keys, place)
    return data


def _map(items: Sequence[JsonValue], keys: Sequence[Key], done: int) -> Iterator[JsonValue]:
    for item in items:
        try:
            yield _follow(item, keys, done)
        except _DeadEndError:
            continue


def _list_items(data: JsonValue, keys: Sequence[Key], place: int) -> list[JsonValue]:
    key = keys[place]
    assert isinstance(key, slice)
    if isinstance(data, list):
        return data[key]
    if isinstance(data, dict) and key == _ALL:
        return list(data.values())
    raise _DeadEndError(data, key, keys[:place])


def _get(data: JsonValue, keys: Sequence[Key], place: int) -> JsonValue:
    key = keys[place]
    if isinstance(key, str) and isinstance(data, dict) and key in data:
        return data[key]
    if isinstance(key, int) and isinstance(data, list) and -len(data) <= key < len(data):
        return data[key]
    raise _DeadEndError(data, key, keys[:place])


def _explain(error: _DeadEndError) -> str:
    """Return why a key leads nowhere, and which keys lead on."""
    data, key, place = error.data, error.key, _format(error.before)
    if isinstance(key, str) and isinstance(data, dict):
        key_names = ", ".join(name[:_MAX_KEY] for name in list(data)[:_MAX_KEYS]) or "none"
        more = f" and {len(data) - _MAX_KEYS} more" if len(data) > _MAX_KEYS else ""
        return f"{place} has no {key!r}.{did_you_mean(key, data)} Keys: {key_names}{more}."
    if isinstance(key, int) and isinstance(data, list):
        return f"{place} has {format_count(len(data), 'item')}, so there is no [{key}]."
    return f"{place} is {_describe(data)}, not {'an object' if isinstance(key, str) else 'a list'}."


def _format(keys: Sequence[Key]) -> str:
    """Return the path of these keys, for messages."""
    return "".join(map(_format_key, keys)).removeprefix(".") or "The whole"


def _format_key(key: Key) -> str:
    if isinstance(key, slice):
        return "[*]" if key == _ALL else f"[{key.start or ''}:{key.stop or ''}]"
    return f"[{key}]" if isinstance(key, int) else f".{key}"


def _describe(value: JsonValue) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


@tool(blocking=True)
def query_json(data: str, path: str) -> str:
    """Get a part of JSON.

    Args:
        data: the JSON text
        path: path of the part, such as items[1].name, items[-1], items[*].name, items[0:3] or ["a key"].name
    """
    if len(data) > MAX_DATA:
        raise ToolError(f"The data is longer than {MAX_DATA:,} characters.")
    try:
        parsed: JsonValue = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ToolError(f"The data is not JSON: {error}.") from error
    value = find_value(parsed, path)
    return value if isinstance(value, str) else to_json(value, inf_nan_mode="strings").decode()
