"""Events as JSON, and back."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from functools import cache, singledispatch
from math import isfinite
from types import NoneType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tactician.errors import StoredStateError
from tactician.events.bus import EventEmitter
from tactician.events.event import Event, find_event_type

if TYPE_CHECKING:
    from pydantic import JsonValue, TypeAdapter

_MAX_DEPTH = 100
_names: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def event_to_json(event: Event) -> dict[str, JsonValue]:
    """Return an event as plain JSON values; `type` is the name of its class.

    Every event has this form. An object without a JSON form becomes the text that `str` returns.
    """
    return {"type": event.type, **_encode_fields(event, 0)}


def event_from_json(data: str | bytes | Mapping[str, object]) -> Event:
    """Return the event in JSON text or values.

    Fields that can hold any object, such as the output of a run, are read as JSON values.

    Raises:
        StoredStateError: when the data does not describe an event, or no imported module defines its type.
    """
    from pydantic import ValidationError

    values = _parse(data) if isinstance(data, str | bytes) else data
    name = values.get("type") if isinstance(values, Mapping) else None
    if not isinstance(values, Mapping) or not isinstance(name, str):
        raise StoredStateError("This is not an event: an event is a JSON object with a `type`.")
    if find_event_type(name) is None:
        raise StoredStateError(f"The event type {name!r} is unknown: import the module that defines it.")
    try:
        return _adapter(name).validate_python({key: value for key, value in values.items() if key != "type"})
    except ValidationError as error:
        raise StoredStateError(f"The event of the type {name!r} cannot be read: {error}") from error


@singledispatch
def encode(value: object, depth: int = 0) -> JsonValue:
    """Return a value as plain JSON. Register further classes with `encode.register`."""
    if depth > _MAX_DEPTH:
        return "..."
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value, depth)
    if hasattr(type(value), "__pydantic_serializer__"):
        return _encode_model(value)
    if isinstance(value, Mapping):
        return {_encode_text(str(key)): encode(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return _encode_all(value, depth)
    return _describe(value)


@encode.register(NoneType)
def _(value: None, depth: int = 0) -> JsonValue:
    return value


@encode.register(int)
def _(value: int, depth: int = 0) -> JsonValue:
    return value


@encode.register(str)
def _(value: str, depth: int = 0) -> JsonValue:
    return _encode_text(value)


@encode.register(float)
def _(value: float, depth: int = 0) -> JsonValue:
    return value if isfinite(value) else None


@encode.register(bytes)
def _(value: bytes, depth: int = 0) -> JsonValue:
    return b64encode(value).decode("ascii")


@encode.register(Enum)
def _(value: Enum, depth: int = 0) -> JsonValue:
    return encode(value.value, depth + 1)


@encode.register(date)
@encode.register(time)
def _(value: date | time, depth: int = 0) -> JsonValue:
    return value.isoformat()


@encode.register(EventEmitter)
def _(value: EventEmitter, depth: int = 0) -> JsonValue:
    return None


def _encode_all(values: Iterable[object], depth: int) -> JsonValue:
    return [encode(value, depth + 1) for value in values]


def _encode_fields(value: object, depth: int) -> dict[str, JsonValue]:
    encoded: dict[str, JsonValue] = {}
    for name in _names.get(type(value)) or _find_names(value):
        part = getattr(value, name)
        # most values are plain, and the dispatch takes longer than all the rest
        is_plain = part is None or type(part) is bool or type(part) is int or (type(part) is str and part.isascii())
        encoded[name] = part if is_plain else encode(part, depth + 1)
    return encoded


def _find_names(value: object) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, which are looked up once."""
    assert is_dataclass(value)
    names = _names[type(value)] = tuple(field.name for field in fields(value))
    return names


def _encode_model(value: object) -> JsonValue:
    from pydantic_core import to_jsonable_python

    try:
        plain = to_jsonable_python(value, fallback=_describe, bytes_mode="base64", inf_nan_mode="null")
    except ValueError:  # errors of the model's own serialisers, and circular references
        return _describe(value)
    return encode(plain)


def _encode_text(text: str) -> str:
    """Return the text without lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _describe(value: object) -> str:
    try:
        return _encode_text(str(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _parse(text: str | bytes) -> object:
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f"This is not an event: it is not JSON: {error}") from error
    return parsed


@cache
def _adapter(name: str) -> TypeAdapter[Event]:
    from pydantic import TypeAdapter

    return TypeAdapter(find_event_type(name) or Event)
