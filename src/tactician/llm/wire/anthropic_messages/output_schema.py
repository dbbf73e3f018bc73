"""JSON schemas in the form that Claude's structured output accepts.

Source: the guide "Structured outputs", section "JSON schema limitations". Keywords that it refuses, such as a maximum
length, go into the description, as in the official SDK: the model mostly respects them, and we check the answer anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pydantic_core import to_json

from tactician.llm.model import JsonSchema, OutputSpec
from tactician.llm.schema import remove_keywords
from tactician.llm.wire.encoding import IdentityCache

_KEPT = frozenset({"$ref", "type", "enum", "const", "description", "title", "required", "additionalProperties"})
_SCHEMAS_BY_NAME = ("properties", "$defs")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf")
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
)


def output_schema(output: OutputSpec, refused: frozenset[str] = frozenset()) -> dict[str, object] | None:
    """Return the schema that Claude can be held to, or `None`.

    Returns:
        `None` for a schema that has maps with keys of any name, or that contains itself.
    """
    return _schemas(refused)(output.schema) if output.strict else None


@cache
def _schemas(refused: frozenset[str]) -> IdentityCache[JsonSchema, dict[str, object] | None]:
    return IdentityCache(lambda schema: None if _is_recursive(schema) else adapt_schema(schema, refused))


def _is_recursive(schema: JsonSchema) -> bool:
    definitions = schema.get("$defs")
    if not isinstance(definitions, Mapping):
        return False
    below = {name: _references(definition) for name, definition in definitions.items()}
    return any(_reaches(name, name, below, set()) for name in below)


def _reaches(start: str, target: str, below: Mapping[str, frozenset[str]], seen: set[str]) -> bool:
    for name in below.get(start, frozenset()) - seen:
        seen.add(name)
        if name == target or _reaches(name, target, below, seen):
            return True
    return False


def _references(value: object) -> frozenset[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        names = {reference.removeprefix("#/$defs/")} if isinstance(reference, str) else set()
        return frozenset(names).union(*map(_references, value.values()))
    return frozenset().union(*map(_references, value)) if isinstance(value, list) else frozenset()


def adapt_schema(schema: JsonSchema, refused: frozenset[str] = frozenset()) -> dict[str, object]:
    """Return the schema with unsupported keywords as words. The `refused` keywords are dropped."""
    return _schema(remove_keywords(schema, refused))


def _schema(schema: Mapping[str, object]) -> dict[str, object]:
    taken: dict[str, object] = {}
    described: dict[str, object] = {}
    for name, value in schema.items():
        if name in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            taken[name] = {key: _inner(inner) for key, inner in value.items()}
        elif name in _LISTS_OF_SCHEMAS and isinstance(value, list):
            taken[name] = [_inner(inner) for inner in value]
        elif name == "items":
            taken[name] = _inner(value)
        else:
            (taken if _is_taken(name, value) else described)[name] = value
    if described:
        words = ", ".join(f"{name}: {to_json(value).decode()}" for name, value in described.items())
        taken["description"] = "\n\n".join(filter(None, (str(taken.get("description") or ""), f"{{{words}}}")))
    return taken


def _inner(value: object) -> object:
    return _schema(value) if isinstance(value, Mapping) else value


def _is_taken(name: str, value: object) -> bool:
    return name in _KEPT or (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1))
