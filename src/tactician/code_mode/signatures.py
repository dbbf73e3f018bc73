"""Signatures of tools as Python functions, for models that write scripts."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.tools import Tool

_TYPES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MAX_DEPTH: Final = 8
_MAX_SCHEMAS: Final = 5_000
"""Schemas that are read for all hints: a schema of somebody else may lead to themselves in many ways."""
_MAX_CLASSES: Final = 60
_MAX_FIELDS: Final = 60
_MAX_CHOICES: Final = 20
_LONGEST_NOTE: Final = 200
_LONGEST: Final = 1_000
_LONGEST_DEFAULT: Final = 100


class TypeWriter:
    """Writer of type hints, and of the classes that they name. Equal objects share a class."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}
        self._open: dict[int, str] = {}
        self._read = 0

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of all hints so far, each after those that it needs."""
        return tuple(self._classes.values())

    def write(self, schema: object, name: str, root: Mapping[str, object], depth: int = 0) -> str:
        """Return the type hint of a schema; `object` when it cannot be said, or would be long.

        Args:
            schema: the schema.
            name: name of the class, where the schema has no title.
            root: the schema around it, in which references are looked up.
            depth: number of schemas around it.
        """
        self._read += 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._read > _MAX_SCHEMAS:
            return "object"
        if isinstance(reference := schema.get("$ref"), str):
            return self._write_reference(reference, root, depth)
        if isinstance(options := schema.get("enum", [schema["const"]] if "const" in schema else None), list):
            return _write_choice(options)
        for key in ("anyOf", "oneOf"):
            if isinstance(kinds := schema.get(key), list):
                return self._write_union(kinds, name, root, depth)
        if isinstance(every := schema.get("allOf"), list) and len(every) == 1:
            return self.write(every[0], name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._write_union([{**schema, "type": each} for each in kind], name, root, depth)
        if kind == "array":
            return f"list[{self.write(schema.get('items'), f'{name}Item', root, depth + 1)}]"
        if kind == "object" or "properties" in schema:
            return self._write_object(schema, name, root, depth)
        return _TYPES.get(kind, "object") if isinstance(kind, str) else "object"

    def _write_union(self, kinds: list[object], name: str, root: Mapping[str, object], depth: int) -> str:
        return " | ".join(dict.fromkeys(self.write(kind, name, root, depth + 1) for kind in kinds[:_MAX_CHOICES]))

    def _write_reference(self, reference: str, root: Mapping[str, object], depth: int) -> str:
        target: object = root
        for step in reference.removeprefix("#").strip("/").split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        return self.write(target, reference.rpartition("/")[2], root, depth + 1)

    def _write_object(self, schema: Mapping[str, object], name: str, root: Mapping[str, object], depth: int) -> str:
        properties = get_mapping(schema, "properties")
        if not properties:
            values = schema.get("additionalProperties")
            inner = self.write(values, f"{name}Value", root, depth + 1) if isinstance(values, Mapping) else "object"
            return "dict" if inner == "object" else f"dict[str, {inner}]"
        if id(schema) in self._open:  # it has itself inside
            return f'"{self._open[id(schema)]}"'
        if len(self._classes) >= _MAX_CLASSES or len(properties) > _MAX_FIELDS or not all(map(_is_name, properties)):
            return "dict"
        title = schema.get("title")
        label = _name_class(title if isinstance(title, str) else name)
        self._open[id(schema)] = label
        try:
            return self._add(label, self._write_fields(properties, schema, root, depth))
        finally:
            del self._open[id(schema)]

    def _write_fields(
        self, properties: Mapping[str, object], schema: Mapping[str, object], root: Mapping[str, object], depth: int
    ) -> str:
        required = list_required(schema)
        lines = []
        for key, inner in properties.items():
            hint = self.write(inner, _name_class(key), root, depth + 1)
            note = describe(inner)
            shown = hint if key in required else f"NotRequired[{hint}]"
            lines.append(f"    {key}: {shown}{f'  # {note}' if note else ''}")
        return "\n".join(lines)

    def _add(self, label: str, fields: str) -> str:
        """Add a class, under another name when there is another class of that name."""
        name, number = label, 1
        while True:
            text = f"class {name}(TypedDict):\n{fields}"
            if self._classes.setdefault(name, text) == text:
                return name
            number += 1
            name = f"{label}{number}"


def get_mapping(schema: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return the mapping in a schema under a key, or an empty mapping."""
    value = schema.get(key)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def list_required(schema: Mapping[str, object]) -> list[object]:
    """Return the names of the properties that an object must have."""
    required = schema.get("required")
    return required if isinstance(required, list) else []


def describe(schema: object) -> str:
    """Return the description of a schema on a single line."""
    text = schema.get("description") if isinstance(schema, Mapping) else None
    return " ".join(text.split())[:_LONGEST_NOTE] if isinstance(text, str) else ""


def _write_choice(options: list[object]) -> str:
    return f"Literal[{', '.join(_write_constant(option) for option in options[:_MAX_CHOICES])}]"


def _write_constant(value: object) -> str:
    return repr(value) if value is None or isinstance(value, bool) else json.dumps(value, default=str)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _name_class(text: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return name if name and not name[0].isdigit() else f"Type{name}"


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
