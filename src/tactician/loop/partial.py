"""Partial values of structured answers."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import get_args, get_origin

import pydantic
from pydantic_core import from_json

from tactician.model_classes import is_model_class


def parse_partial(text: str, kind: object, wrapped: bool) -> object:
    """Return the beginning of an answer as a value of its type; `None` when there is nothing yet.

    A pydantic model has the fields so far; the others are missing, or have their defaults. A list has the items so far,
    the last of which may be partial. Other types are plain JSON values.
    """
    try:
        data: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    if wrapped:
        data = data.get("value") if isinstance(data, dict) else None
    return _validate_partial(data, kind) if data else None


def _validate_partial(data: object, kind: object) -> object:
    if isinstance(data, list) and get_origin(kind) in (list, tuple) and (kinds := get_args(kind)):
        return [_validate_partial(item, kinds[0]) for item in data]
    if isinstance(data, dict) and isinstance(kind, type) and is_model_class(kind):
        return _create_partial_model(data, kind)
    try:
        return _adapter(kind).validate_python(data)
    except (pydantic.ValidationError, TypeError):
        return data


def _create_partial_model(data: dict[str, object], kind: type[pydantic.BaseModel]) -> pydantic.BaseModel:
    fields = kind.model_fields.items()
    names = {name: field.alias or name for name, field in fields}
    come = {name: _validate_partial(data[names[name]], f.annotation) for name, f in fields if names[name] in data}
    return kind.model_construct(set(come), **come)


@cache
def _adapter(kind: Hashable) -> pydantic.TypeAdapter[object]:
    return pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # a type, but mypy cannot know
