"""Sample values for JSON schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from tactician.llm.model import JsonSchema

_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00",
    "duration": "P1D",
    "email": "name@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def generate_sample(schema: JsonSchema) -> object:
    """Return a value in the form of the schema, which may violate constraints on values inside it.

    Raises:
        RecursionError: when every value of it contains another, and so on.
    """
    return _generate(schema, _generate_mapping(schema.get("$defs")), ())


def _generate(schema: JsonSchema, definitions: JsonSchema, inside: tuple[str, ...]) -> object:
    def inner(value: object) -> object:
        return _generate(_generate_mapping(value), definitions, inside)

    if samples := [*_generate_items(schema.get("examples")), *_generate_items(schema.get("enum"))]:
        return samples[0]
    if "const" in schema:
        return schema["const"]
    if isinstance(reference := schema.get("$ref"), str):
        if reference in inside:
            raise RecursionError(reference)
        definition = _generate_mapping(definitions.get(reference.removeprefix("#/$defs/")))
        return _generate(definition, definitions, (*inside, reference))
    if choices := _generate_items(schema.get("anyOf")):
        return _generate_first(choices, inner)
    return _generate_of_type(schema, inner)


def _generate_of_type(schema: JsonSchema, inner: Callable[[object], object]) -> object:
    match schema.get("type"):
        case "object":
            return {name: inner(value) for name, value in _generate_mapping(schema.get("properties")).items()}
        case "array":
            return _generate_list(schema, inner)
        case "string":
            return _generate_text(schema)
        case "integer" | "number":
            return _choose_number(schema)
        case "boolean":
            return True
    return None


def _generate_first(choices: Sequence[object], inner: Callable[[object], object]) -> object:
    """Return a value of the first possible choice; `null` is the last choice."""
    for choice in sorted(choices, key=lambda option: _generate_mapping(option).get("type") == "null"):
        try:
            return inner(choice)
        except RecursionError:
            continue
    raise RecursionError(str(choices))


def _generate_list(schema: JsonSchema, inner: Callable[[object], object]) -> list[object]:
    if places := _generate_items(schema.get("prefixItems")):
        return [inner(place) for place in places]
    try:
        item = inner(schema.get("items"))
    except RecursionError:
        return []
    return [item] * max(1, int(_generate_number(schema, "minItems", 1)))


def _generate_text(schema: JsonSchema) -> str:
    if (sample := _TEXTS.get(str(schema.get("format")))) is not None:
        return sample
    text = str(schema.get("description", "..."))
    least, most = int(_generate_number(schema, "minLength", 0)), int(_generate_number(schema, "maxLength", len(text)))
    return text[:most].ljust(least, ".")


def _choose_number(schema: JsonSchema) -> float:
    """Return a number in the range of the schema if that is easy to compute; else any number."""
    low = _generate_number(schema, "minimum", _generate_number(schema, "exclusiveMinimum", float("-inf")))
    high = _generate_number(schema, "maximum", _generate_number(schema, "exclusiveMaximum", float("inf")))
    outside = {schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")}
    step = _generate_number(schema, "multipleOf", 1)
    candidates = (step, low, low + step, high, high - step, (low + high) / 2)
    return next(
        (number for number in candidates if isfinite(number) and low <= number <= high and number not in outside), 1
    )


def _generate_number(schema: JsonSchema, name: str, default: float) -> float:
    value = schema.get(name)
    return value if isinstance(value, int | float) else default


def _generate_mapping(value: object) -> JsonSchema:
    return value if isinstance(value, Mapping) else {}


def _generate_items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
