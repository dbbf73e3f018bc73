"""Checks of single values of a form, before the whole form is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Final, cast
from uuid import UUID

from pydantic import AnyUrl, Field, TypeAdapter, ValidationError
from pydantic_core import SchemaError

_FORMATS: Final[Mapping[str, object]] = {
    "date": date,
    "date-time": datetime,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "uri": AnyUrl,
}
_TYPES: Final[Mapping[str, object]] = {"string": str, "integer": int, "number": float}
_LIMITS: Final = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
}
"""Limits of a JSON Schema, by the names that pydantic gives them."""
_limit: Callable[..., object] = Field  # whose arguments data names here


def check_value(value: object, schema: Mapping[str, object]) -> None:
    """Check a text or a number against the JSON Schema of its field.

    The receiver of the whole form checks limits that pydantic does not know.

    Raises:
        ValueError: when it is not valid; the message says why.
    """
    kind = _FORMATS.get(str(schema.get("format"))) or _TYPES.get(str(schema.get("type")))
    if kind is None:
        return
    limits = {name: schema[key] for key, name in _LIMITS.items() if key in schema}
    try:
        limited = Annotated[kind, _limit(**limits)] if limits else kind
        adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", limited))
    except (SchemaError, TypeError, ValueError):
        return
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        raise ValueError(_describe(error)) from None


def _describe(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]["msg"]
    return f"{problem[:1].lower()}{problem[1:]}"
