"""Signatures of tools as Python functions, for models that write scripts."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from tactician.errors import DeclarationError
from tactician.llm import ToolSpec
from tactician.tools import Tool

_TYPES: Final = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict"
}  # fmt: skip
_LONGEST: Final = 1_000


def name_functions(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return the tools by the names of their functions.

    Raises:
        DeclarationError: when two have the same name, or a tool ends the run.
    """
    functions: dict[str, Tool] = {}
    problems: list[str] = []
    for tool in tools:
        name = re.sub(r"\W", "_", tool.name)
        name = f"_{name}" if name[:1].isdigit() or keyword.iskeyword(name) else name
        if functions.setdefault(name, tool) is not tool:
            problems.append(f"two tools have the name {name!r}")
        if tool.traits.ends_run or tool.traits.calls_tools:
            problems.append(f"{tool.name!r} ends the run or runs scripts itself, which a script cannot do")
    if problems:
        raise DeclarationError("CodeTool", problems)
    return functions


def describe_function(name: str, spec: ToolSpec) -> str:
    """Return the signature of a function, and what it is for."""
    properties = _get_mapping(spec.parameters, "properties")
    required = spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    parameters = [
        f"{key}: {_write_type(schema)}{'' if key in needed else ' = ...'}" for key, schema in properties.items()
    ]
    notes = [
        f"    {key}: {text}"
        for key, schema in properties.items()
        if isinstance(schema, Mapping) and (text := schema.get("description"))
    ]
    purpose = " ".join(spec.description.split())[:_LONGEST]
    return "\n".join((f"{name}({', '.join(parameters)})", f"    {purpose}", *notes))


def list_parameters(spec: ToolSpec) -> tuple[str, ...]:
    """Return the names of the parameters, in order."""
    return tuple(_get_mapping(spec.parameters, "properties"))


def _get_mapping(schema: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = schema.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _write_type(schema: object, depth: int = 0) -> str:
    """Return a type hint for a JSON schema; `object` when it would be long."""
    if not isinstance(schema, Mapping) or depth > 4:
        return "object"
    if isinstance(options := schema.get("enum"), list):
        return f"Literal[{', '.join(json.dumps(option) for option in options[:20])}]"
    if isinstance(kinds := schema.get("anyOf"), list):
        return " | ".join(dict.fromkeys(_write_type(kind, depth + 1) for kind in kinds[:10]))
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_write_type(schema.get('items'), depth + 1)}]"
    return _TYPES.get(kind, "object") if isinstance(kind, str) else "dict" if "$ref" in schema else "object"
