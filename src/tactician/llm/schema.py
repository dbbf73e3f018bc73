"""JSON schemas for models: closed, complete, and without keywords that a provider refuses."""

from __future__ import annotations

from pydantic_core import to_json

from tactician.llm.model import JsonSchema

_LEFT_OUT = ("title", "default", "discriminator")
# Keywords that strict function calling refuses: OpenAI's guide, "Supported schemas". `default` has no meaning there.
_NOT_IN_STRICT_TOOLS = frozenset(
    {"default", "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"}
    | {"patternProperties", "minLength", "maxLength", "uniqueItems"}
)


def close_schema(schema: JsonSchema) -> dict[str, object]:
    """Return the schema with every property required, no additional properties, and no titles or defaults.

    Strict structured output requires that, and it keeps a small model from leaving fields out.

    `oneOf` and keywords beside a `$ref` become `anyOf`, because strict output knows neither. Free-form objects stay
    open.
    """
    return {name: _close_value(name, value) for name, value in _close_object(schema).items()}


def _close_object(schema: JsonSchema) -> dict[str, object]:
    remaining = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    if "oneOf" in remaining and "anyOf" not in remaining:
        remaining["anyOf"] = remaining.pop("oneOf")
    if "$ref" in remaining and remaining.keys() - {"$ref", "$defs"}:
        remaining["anyOf"] = [{"$ref": remaining.pop("$ref")}]
    if isinstance(properties := remaining.get("properties"), dict):
        remaining["required"] = list(properties)
        remaining["additionalProperties"] = False
    return remaining


def _close_value(name: str, value: object) -> object:
    if name in ("properties", "$defs") and isinstance(value, dict):
        return {key: close_schema(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
    return _close_item(value)


def _close_item(value: object) -> object:
    if isinstance(value, dict):
        return close_schema(value)
    if isinstance(value, list):
        return [_close_item(item) for item in value]
    return value


def format_schema_instructions(schema: JsonSchema) -> str:
    """Return the instructions for a model that cannot be held to the schema of its answer."""
    return (
        "Answer with one JSON object that matches this JSON schema, and write nothing else:\n"
        + to_json(schema).decode()
    )


def is_strict(schema: JsonSchema) -> bool:
    """Return whether strict structured output can express the schema: no object has properties of any name."""
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    return all(_is_strict_value(value) for value in schema.values())


def _is_strict_value(value: object) -> bool:
    if isinstance(value, dict):
        return is_strict(value)
    return all(map(_is_strict_value, value)) if isinstance(value, list) else True


def is_strict_tool_schema(schema: JsonSchema) -> bool:
    """Return whether strict function calling accepts the schema: closed objects, nothing optional."""
    return schema.get("type") == "object" and _fits(schema)


def _fits(schema: JsonSchema) -> bool:
    if not _NOT_IN_STRICT_TOOLS.isdisjoint(schema):
        return False
    properties = schema.get("properties")
    if schema.get("type") == "object" and not isinstance(properties, dict):
        return False
    if isinstance(properties, dict):
        required = schema.get("required")
        complete = set(properties) == set(required if isinstance(required, list) else ())
        if schema.get("additionalProperties") is not False or not complete:
            return False
    return all(_fits_value(name, value) for name, value in schema.items())


def _fits_value(name: str, value: object) -> bool:
    if isinstance(value, dict):
        if name in ("properties", "$defs"):
            return all(_fits(inner) for inner in value.values() if isinstance(inner, dict))
        return name != "items" or _fits(value)
    if name == "anyOf" and isinstance(value, list):
        return all(_fits(inner) for inner in value if isinstance(inner, dict))
    return True


def remove_keywords(schema: JsonSchema, keywords: frozenset[str]) -> JsonSchema:
    """Return the schema without these keywords, at any depth; properties of the same name stay."""
    return _strip(schema, keywords) if keywords else schema


def _strip(schema: JsonSchema, keywords: frozenset[str]) -> JsonSchema:
    stripped: dict[str, object] = {}
    for name, value in schema.items():
        if name in keywords:
            continue
        if name in ("properties", "$defs") and isinstance(value, dict):
            stripped[name] = {key: _strip_value(inner, keywords) for key, inner in value.items()}
        else:
            stripped[name] = _strip_value(value, keywords)
    return stripped


def _strip_value(value: object, keywords: frozenset[str]) -> object:
    if isinstance(value, dict):
        return _strip(value, keywords)
    if isinstance(value, list):
        return [_strip_value(item, keywords) for item in value]
    return value


def hoist_definitions(schema: JsonSchema, prefix: str, definitions: dict[str, object]) -> dict[str, object]:
    """Return the schema for use inside another: its `$defs` move to `definitions`, with prefixed names."""
    nested_definitions = schema.get("$defs")
    if not isinstance(nested_definitions, dict):
        return dict(schema)
    definitions.update(
        {f"{prefix}{name}": _prefix_references(inner, prefix) for name, inner in nested_definitions.items()}
    )
    return {name: _prefix_reference(name, value, prefix) for name, value in schema.items() if name != "$defs"}


def _prefix_references(value: object, prefix: str) -> object:
    if isinstance(value, dict):
        return {key: _prefix_reference(key, inner, prefix) for key, inner in value.items()}
    return [_prefix_references(item, prefix) for item in value] if isinstance(value, list) else value


def _prefix_reference(key: str, value: object, prefix: str) -> object:
    if key == "$ref" and isinstance(value, str):
        return value.replace("#/$defs/", f"#/$defs/{prefix}", 1)
    return _prefix_references(value, prefix)


def bound_schema(schema: JsonSchema, *, string_length: int, items: int) -> dict[str, object]:
    """Return the schema without empty strings, and with a limit on every string and list that has none.

    That makes a small model finish, and keeps it from leaving everything out.
    """
    limited = {name: _bound_value(value, string_length, items) for name, value in schema.items()}
    if limited.get("type") == "string" and not limited.keys() & {"maxLength", "enum", "const", "format", "pattern"}:
        limited["minLength"] = max(1, _integer(limited.get("minLength")))
        limited["maxLength"] = max(string_length, _integer(limited.get("minLength")))
    if limited.get("type") == "array" and "maxItems" not in limited:
        limited["maxItems"] = max(items, _integer(limited.get("minItems")))
    return limited


def _bound_value(value: object, string_length: int, items: int) -> object:
    if isinstance(value, dict):
        return bound_schema(value, string_length=string_length, items=items)
    return [_bound_value(item, string_length, items) for item in value] if isinstance(value, list) else value


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
