"""Fields of a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import cast

from tactician.frozen import frozen
from tactician.process.people.forms import HINTS, build_label

Schema = Mapping[str, object]
_KINDS = {"boolean": "checkbox", "integer": "number", "number": "number", "array": "list", "object": "group"}


@frozen
class Field:
    """Field of a form.

    Attributes:
        widget: the input widget, see `process.forms`; `json` for values that only JSON can express.
        choices: the options of a selection.
        is_whole: true for a whole number.
        may_be_null: true when it may be `None`.
        is_optional: true when it has a default.
        fields: the fields of a group.
        item: the field of a list item.
        schema: the JSON Schema of a value that is neither a group nor a list, with its limits.
    """

    name: str
    label: str
    widget: str
    help: str = ""
    choices: Sequence[object] = ()
    is_whole: bool = False
    may_be_null: bool = False
    is_optional: bool = False
    fields: Sequence[Field] = ()
    item: Field | None = None
    schema: Schema = field(default_factory=dict)

    @property
    def may_be_left_out(self) -> bool:
        """`True` when the field may be left empty."""
        return self.may_be_null or self.is_optional


def list_fields(schema: Schema) -> list[Field]:
    """Return the fields of a form, in order."""
    return list_object_fields(schema, cast("Mapping[str, Schema]", schema.get("$defs", {})), ())


def list_object_fields(schema: Schema, definitions: Mapping[str, Schema], inside: tuple[str, ...]) -> list[Field]:
    """Return the fields of an object; `inside` names the enclosing types, as a type may contain itself."""
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    hints = {name: cast("Schema", schema.get(HINTS, {})) for name, schema in properties.items()}
    names = sorted(properties, key=lambda name: cast("int", hints[name].get("order", 0)))
    required = cast("Sequence[str]", schema.get("required", ()))
    fields = (_build_field(name, properties[name], hints[name], definitions, inside) for name in names)
    return [replace(field, is_optional=field.name not in required) for field in fields]


def _build_field(
    name: str, schema: Schema, hints: Schema, definitions: Mapping[str, Schema], inside: tuple[str, ...]
) -> Field:
    kinds = list(_list_alternatives(schema, definitions))
    others = [kind for _, kind in kinds if kind.get("type") != "null"]
    reference = next((reference for reference, _ in kinds if reference), "")
    plain: Schema = others[0] if len(others) == 1 else {}
    widget = str(hints.get("widget") or _choose_widget(plain))
    if len(others) != 1 or reference in inside:
        widget = "json"
    deeper = (*inside, reference) if reference else inside
    items = plain.get("items")
    return Field(
        name,
        build_label(name, schema),
        widget,
        str(hints.get("help") or schema.get("description") or ""),
        [plain["const"]] if "const" in plain else cast("Sequence[object]", plain.get("enum", ())),
        plain.get("type") == "integer",
        len(others) < len(kinds),
        False,
        list_object_fields(plain, definitions, deeper) if widget == "group" else (),
        _build_field(name, items, {}, definitions, deeper) if widget == "list" and isinstance(items, Mapping) else None,
        {} if widget in ("json", "list", "group") else plain,
    )


def _list_alternatives(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Return all alternatives of a field, with the name of the type if any."""
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix("#/$defs/")
        yield name, definitions.get(name, {})
    elif isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
        for choice in choices:
            yield from _list_alternatives(choice, definitions)
    else:
        yield "", schema


def _choose_widget(schema: Schema) -> str:
    if "enum" in schema or "const" in schema:
        return "select"
    return _KINDS.get(str(schema.get("type")), "text" if schema.get("type") == "string" else "json")
