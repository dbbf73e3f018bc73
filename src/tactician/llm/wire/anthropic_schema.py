"""JSON schemas as Claude's structured output takes them.

Source: the guide "Structured outputs", section "JSON schema limitations". What it refuses, such as a longest length,
goes into the description, as the official SDK does it: the model mostly keeps to it, and we check the answer anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import to_json

from tactician.llm.model import JsonSchema, OutputSpec
from tactician.llm.schema import without_keywords

_MOST = 1024
_KEPT = frozenset({"$ref", "type", "enum", "const", "description", "title", "required", "additionalProperties"})
_SCHEMAS_BY_NAME = ("properties", "$defs")
_LISTS_OF_SCHEMAS = ("anyOf", "allOf")
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
)


class _Schemas:
    """Remembers what was made of a schema: the same one comes with every call of an agent."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, bool, frozenset[str]], tuple[JsonSchema, dict[str, object] | None]] = {}

    def of(self, output: OutputSpec, refused: frozenset[str]) -> dict[str, object] | None:
        # A schema cannot be hashed. The entry keeps its schema alive, so that nothing else gets the same id.
        key = (id(output.schema), output.strict, refused)
        entry = self._made.get(key)
        if entry is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            made = claude_schema(output.schema, refused) if output.strict and not _is_recursive(output.schema) else None
            entry = self._made[key] = (output.schema, made)
        return entry[1]


def output_schema(output: OutputSpec, refused: frozenset[str] = frozenset()) -> dict[str, object] | None:
    """The schema that Claude can be held to; `None` for one that has maps with keys of any name, or contains itself."""
    return _SCHEMAS.of(output, refused)


def _is_recursive(schema: JsonSchema) -> bool:
    definitions = schema.get("$defs")
    if not isinstance(definitions, Mapping):
        return False
    below = {name: _references(definition) for name, definition in definitions.items()}
    return any(_reaches(name, name, below, set()) for name in below)


def _reaches(start: str, wanted: str, below: Mapping[str, frozenset[str]], seen: set[str]) -> bool:
    for name in below.get(start, frozenset()) - seen:
        seen.add(name)
        if name == wanted or _reaches(name, wanted, below, seen):
            return True
    return False


def _references(value: object) -> frozenset[str]:
    if isinstance(value, Mapping):
        own = value.get("$ref")
        names = {own.removeprefix("#/$defs/")} if isinstance(own, str) else set()
        return frozenset(names).union(*map(_references, value.values()))
    return frozenset().union(*map(_references, value)) if isinstance(value, list) else frozenset()


def claude_schema(schema: JsonSchema, refused: frozenset[str] = frozenset()) -> dict[str, object]:
    """The schema with what Claude refuses told in words; `refused` keywords are left out altogether."""
    return _schema(without_keywords(schema, refused))


def _schema(schema: Mapping[str, object]) -> dict[str, object]:
    taken: dict[str, object] = {}
    told: dict[str, object] = {}
    for name, value in schema.items():
        if name in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            taken[name] = {key: _inner(inner) for key, inner in value.items()}
        elif name in _LISTS_OF_SCHEMAS and isinstance(value, list):
            taken[name] = [_inner(inner) for inner in value]
        elif name == "items":
            taken[name] = _inner(value)
        else:
            (taken if _is_taken(name, value) else told)[name] = value
    if told:
        words = ", ".join(f"{name}: {to_json(value).decode()}" for name, value in told.items())
        taken["description"] = "\n\n".join(filter(None, (str(taken.get("description") or ""), f"{{{words}}}")))
    return taken


def _inner(value: object) -> object:
    return _schema(value) if isinstance(value, Mapping) else value


def _is_taken(name: str, value: object) -> bool:
    return name in _KEPT or (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1))


_SCHEMAS = _Schemas()
