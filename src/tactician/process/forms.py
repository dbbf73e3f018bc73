"""Forms for people: the JSON schema of a type, with hints on how to show each field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import TypeAdapter

from tactician.llm import JsonSchema
from tactician.loop import output_type

HINTS = "x-form"
_LONG_TEXT = 200
_WIDGETS = {"boolean": "checkbox", "integer": "number", "number": "number", "array": "list", "object": "group"}
_FORMATS = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "email": "email",
    "uri": "url",
    "password": "password",
}


def form_of(wanted: type) -> JsonSchema:
    """The schema of a type, in which each field has hints under `x-form`: `widget`, `label`, `help` and `order`.

    The widgets: `text`, `textarea`, `number`, `checkbox`, `select`, `list`, `group`, and those of formats such as
    `date`. A field with a default is not required. What is no object is a form with one field, `value`.
    """
    spec = output_type(wanted).spec
    schema = {"type": "object", "properties": {"value": {"type": "string"}}} if spec is None else dict(spec.schema)
    definitions = cast("Mapping[str, object]", schema.get("$defs", {}))
    properties = cast("Mapping[str, Mapping[str, object]]", schema.get("properties", {}))
    hinted = {
        name: {**field, HINTS: _hints(name, field, definitions, order)}
        for order, (name, field) in enumerate(properties.items())
    }
    return {**schema, "properties": hinted, "required": _required(wanted, list(properties))}


def _required(wanted: type, names: list[str]) -> list[str]:
    """The fields that a person has to fill in. A model has to fill in all, so its schema does not tell."""
    written = TypeAdapter[object](wanted).json_schema()
    reference = str(written.get("$ref", "")).removeprefix("#/$defs/")
    whole = written["$defs"][reference] if reference else written
    return [name for name in names if name in whole.get("required", ())] if "properties" in whole else names


def _hints(name: str, field: Mapping[str, object], definitions: Mapping[str, object], order: int) -> dict[str, object]:
    hints: dict[str, object] = {
        "widget": _widget(_resolved(field, definitions)),
        "label": str(field.get("title") or name.replace("_", " ").capitalize()),
        "order": order,
    }
    return {**hints, "help": field["description"]} if "description" in field else hints


def _resolved(field: Mapping[str, object], definitions: Mapping[str, object]) -> Mapping[str, object]:
    """The field itself, without references, and without the null that it may be instead."""
    if isinstance(reference := field.get("$ref"), str):
        return cast("Mapping[str, object]", definitions.get(reference.removeprefix("#/$defs/"), {}))
    if isinstance(choices := field.get("anyOf"), list):
        others = [choice for choice in choices if choice.get("type") != "null"]
        return _resolved(others[0], definitions) if len(others) == 1 else field
    return field


def _widget(field: Mapping[str, object]) -> str:
    if "enum" in field or "const" in field:
        return "select"
    kind = field.get("type")
    if kind == "string":
        longest = field.get("maxLength")
        is_long = isinstance(longest, int) and longest > _LONG_TEXT
        return _FORMATS.get(str(field.get("format")), "textarea" if is_long else "text")
    return _WIDGETS.get(str(kind), "text")
