"""Signatures of tools as Python functions, for models that write scripts."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final

from tactician.code_mode.types import TypeWriter, describe, get_mapping, list_required
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.tools import Tool

_LONGEST: Final = 1_000
_LONGEST_DEFAULT: Final = 100


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


@frozen
class ScriptFunction:
    """Function that a script calls.

    Attributes:
        parameters: the names of its parameters, in order.
        gives_text: true when its result is text, also where that looks like JSON.
    """

    parameters: tuple[str, ...]
    gives_text: bool


def create_function(tool: Tool) -> ScriptFunction:
    """Return the function that stands for a tool."""
    gives_text = (tool.output_schema or {}).get("type") == "string"
    return ScriptFunction(tuple(get_mapping(tool.spec.parameters, "properties")), gives_text)


def describe_functions(functions: Mapping[str, Tool]) -> str:
    """Return the classes that functions take and return, then their signatures and what they are for."""
    types = TypeWriter()
    described = [_describe_function(name, tool, types) for name, tool in functions.items()]
    return "\n".join((*types.classes, *described))


def _describe_function(name: str, tool: Tool, types: TypeWriter) -> str:
    schema = tool.spec.parameters
    properties = get_mapping(schema, "properties")
    required = list_required(schema)
    parameters = [
        f"{key}: {types.write(inner, f'{name}_{key}', schema)}{'' if key in required else _write_default(inner)}"
        for key, inner in properties.items()
    ]
    result = tool.output_schema
    returned = "" if result is None else f" -> {types.write(result, f'{name}_result', result)}"
    notes = [f"    {key}: {text}" for key, inner in properties.items() if (text := describe(inner))]
    purpose = " ".join(tool.description.split())[:_LONGEST]
    return "\n".join((f"{name}({', '.join(parameters)}){returned}", f"    {purpose}", *notes))


def _write_default(schema: object) -> str:
    if not isinstance(schema, Mapping) or "default" not in schema:
        return " = ..."
    text = repr(schema["default"])
    return f" = {text if len(text) <= _LONGEST_DEFAULT else '...'}"
