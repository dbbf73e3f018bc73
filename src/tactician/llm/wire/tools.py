"""What all formats need to know of tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from tactician.llm.model import JsonSchema, ToolSpec

T = TypeVar("T")
_MOST = 4096
# What strict function calling refuses: OpenAI's guide, "Supported schemas". `default` would mean nothing in it.
_NOT_STRICT = frozenset(
    {"default", "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"}
    | {"patternProperties", "minLength", "maxLength", "uniqueItems"}
)


class PerTool(Generic[T]):
    """Remembers what was made of a tool: the same tools come with every call of an agent."""

    def __init__(self, make: Callable[[ToolSpec], T]) -> None:
        self._make = make
        self._made: dict[int, tuple[ToolSpec, T]] = {}

    def __call__(self, tool: ToolSpec) -> T:
        """What is made of the tool."""
        # A schema cannot be hashed. The entry keeps its tool alive, so that nothing else gets the same id.
        entry = self._made.get(id(tool))
        if entry is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            entry = self._made[id(tool)] = (tool, self._make(tool))
        return entry[1]


def fits_strict(schema: JsonSchema) -> bool:
    """Whether strict function calling can have the schema as it is: closed objects, nothing optional."""
    return schema.get("type") == "object" and _fits(schema)


def _fits(schema: JsonSchema) -> bool:
    if not _NOT_STRICT.isdisjoint(schema):
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
