"""Forms for the answers of people, and what people are shown.

A form is the schema of a type with hints, and a filled-in form means an object of the type.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar, cast

import pydantic
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from typing_extensions import TypeForm

from tactician.llm.model import JsonSchema
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput, OutputType
from tactician.runs import PendingRequest

T = TypeVar("T")
HINTS: Final = "x-form"
_ONLY: Final = "value"
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


def build_form(kind: type) -> JsonSchema:
    """Build the form of a type: its schema, in which each field has hints under `x-form`.

    The hints are `widget`, `label`, `help` and `order`, and `optional` where the field may be left out. The widgets are
    `text`, `textarea`, `number`, `checkbox`, `select`, `list`, `group`, and formats such as `date`. A type
    that is not an object has a form with a single field, `value`.
    """
    schema = _schema_of(cast(Hashable, kind))
    definitions = cast("Mapping[str, object]", schema.get("$defs", {}))
    if _has_one_field(schema):
        field = {name: value for name, value in schema.items() if name != "$defs"}
        form: JsonSchema = {"type": "object", "properties": {_ONLY: field}, "required": [_ONLY]}
        schema = {**form, "additionalProperties": False, **({"$defs": definitions} if definitions else {})}
    properties = cast("Mapping[str, Mapping[str, object]]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    hinted = {
        name: {
            **field,
            HINTS: _build_hints(name, field, definitions, order) | ({} if name in required else {"optional": True}),
        }
        for order, (name, field) in enumerate(properties.items())
    }
    return {**schema, "properties": hinted}


def parse_answer(kind: TypeForm[T], response: object) -> T:
    """Return the object that an answer to the form of a type means.

    The answer has the shape of the form, or is the object itself.

    Raises:
        InvalidOutput: when the answer is neither.
    """
    # Without an output type this is typed as text, and T is str then.
    expected = cast("OutputType[T]", output_type(kind))
    filled_in = isinstance(response, Mapping) and response.keys() == {_ONLY}
    if not filled_in or not _has_one_field(_schema_of(cast(Hashable, kind))):
        return _accept(expected, response)
    try:
        return _accept(expected, cast("Mapping[str, object]", response)[_ONLY])
    except InvalidOutput as error:
        try:
            return expected.accept(response)  # a union may have a part with just this field
        except InvalidOutput:
            raise error from None


def find_text_request(pending: Sequence[PendingRequest]) -> PendingRequest | None:
    """Return the only request that somebody waits for, if any text is an answer to it."""
    if len(pending) != 1 or pending[0].kind != "form":
        return None
    properties = (pending[0].schema or {}).get("properties")
    only = properties.get(_ONLY) if isinstance(properties, Mapping) and properties.keys() == {_ONLY} else None
    is_text = isinstance(only, Mapping) and only.get("type") == "string" and not {"enum", "format"} & only.keys()
    return pending[0] if is_text else None


def build_label(name: str, field: Mapping[str, object]) -> str:
    """Return the label of a field: its explicit title, if any."""
    plain = name.replace("_", " ").capitalize()
    title = str(field.get("title") or plain)
    return plain if title.lower() == plain.lower() else title  # pydantic derives a missing title from the name


def _accept(expected: OutputType[T], response: object) -> T:
    try:
        return expected.accept(response)
    except InvalidOutput as error:
        if not isinstance(response, dict | list):
            raise
        try:
            return expected.parse(to_json(response).decode())  # where JSON means more than the same Python objects
        except PydanticSerializationError:
            raise error from None


@lru_cache(maxsize=512)
def share_form(kind: Hashable) -> JsonSchema:
    """Return the form of a type, the same object for all who are asked."""
    return build_form(cast("type", kind))


@lru_cache(maxsize=512)
def _schema_of(kind: Hashable) -> JsonSchema:
    adapter: pydantic.TypeAdapter[object] = pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable
    schema = adapter.json_schema()
    if not isinstance(schema.get("$ref"), str):
        return schema
    definitions = cast("Mapping[str, Mapping[str, object]]", schema["$defs"])  # the type contains itself
    return {**_resolve(schema, definitions), "$defs": definitions}


def _has_one_field(schema: JsonSchema) -> bool:
    return schema.get("type") != "object"


def _build_hints(
    name: str, field: Mapping[str, object], definitions: Mapping[str, object], order: int
) -> dict[str, object]:
    hints: dict[str, object] = {
        "widget": _choose_widget(_resolve(field, definitions)),
        "label": build_label(name, field),
        "order": order,
    }
    return {**hints, "help": field["description"]} if "description" in field else hints


def _resolve(field: Mapping[str, object], definitions: Mapping[str, object]) -> Mapping[str, object]:
    """Return the field without references, and without the null that it may be instead."""
    if isinstance(reference := field.get("$ref"), str):
        return cast("Mapping[str, object]", definitions.get(reference.removeprefix("#/$defs/"), {}))
    if isinstance(choices := field.get("anyOf") or field.get("oneOf"), list):
        others = [choice for choice in choices if choice.get("type") != "null"]
        return _resolve(others[0], definitions) if len(others) == 1 else field
    return field


def _choose_widget(field: Mapping[str, object]) -> str:
    if "enum" in field or "const" in field:
        return "select"
    kind = field.get("type")
    if kind == "string":
        longest = field.get("maxLength")
        is_long = isinstance(longest, int) and longest > _LONG_TEXT
        return _FORMATS.get(str(field.get("format")), "textarea" if is_long else "text")
    return _WIDGETS.get(str(kind), "text")


_INDENT: Final = "  "
_LONGEST: Final = 10_000
_WORDS: Final[Mapping[object, str]] = {True: "yes", False: "no", None: "-"}


def format_for_people(value: object) -> str:
    """Return an object as lines such as `price: 3`, with what is inside it indented; a text as it is.

    At most 10,000 characters are shown.
    """
    text = value if isinstance(value, str) else "\n".join(_format_lines(to_jsonable_python(value, fallback=str)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _format_lines(value: object) -> Iterator[str]:
    """Yield the lines of a JSON value."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _format_entry(f"{name}:".replace("_", " "), inner)
        case list():
            for inner in value:
                yield from _format_entry("-", inner)
        case bool() | None:
            yield _WORDS[value]
        case _:
            yield from str(value).splitlines()


def _format_entry(mark: str, inner: object) -> Iterator[str]:
    """Yield a value behind its mark: on the same line, where it is a single line, else indented below."""
    lines = list(_format_lines(inner))
    if len(lines) <= 1 and not (isinstance(inner, dict | list) and inner):
        yield f"{mark} {lines[0] if lines else _WORDS[None]}"
        return
    yield mark
    yield from (f"{_INDENT}{line}" for line in lines)
