"""Steps of a pipeline, and the schema that their parameters make together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic_core import from_json

from tactician.errors import DeclarationError
from tactician.llm import ToolResult
from tactician.llm.model import JsonSchema
from tactician.tools.tool import Tool


@dataclass(slots=True)
class PipelineStep:
    """Tool in a pipeline.

    Attributes:
        tool: the tool.
        adapt: function that makes its input of the output of the step before.
        to: the parameter that gets the input; the first parameter, when `None`.
        names: the parameters of the pipeline that are passed on to the tool, with the names that it has for them.
    """

    tool: Tool
    adapt: Callable[[str], object] | None = None
    to: str | None = None
    names: dict[str, str] = field(default_factory=dict)

    @property
    def properties(self) -> Mapping[str, object]:
        """The parameters of the tool with their schemas."""
        return cast("Mapping[str, object]", self.tool.spec.parameters.get("properties", {}))

    @property
    def piped(self) -> str | None:
        """The parameter that gets the output of the step before; `None` for a tool without parameters."""
        return self.to or next(iter(self.properties), None)

    def collect_arguments(self, values: Mapping[str, object], before: ToolResult | None) -> dict[str, object]:
        """Return the arguments of the tool.

        Args:
            values: the arguments of the pipeline.
            before: the result of the step before, if any. An adapter sees it only when the step succeeded.
        """
        arguments = {parameter: values[name] for name, parameter in self.names.items() if name in values}
        if before is None or self.piped is None:
            return arguments
        value: object = before.content
        if self.adapt is not None and not before.is_error:
            value = self.adapt(before.content)
        return arguments | {self.piped: self._read(value)}

    def _read(self, value: object) -> object:
        """Return text as the JSON that it is, for a parameter that does not take text."""
        if not isinstance(value, str) or self.piped is None or _takes_text(self.properties[self.piped]):
            return value
        try:
            parsed: object = from_json(value)
        except ValueError:
            return value
        return parsed


def combine_schemas(steps: Sequence[PipelineStep], name: str) -> JsonSchema:
    """Return the schema of the parameters of a pipeline, and set for each step which of them it gets.

    A parameter of a later step whose name is taken gets the name of its tool before it.

    Raises:
        DeclarationError: when two parameters or definitions have the same name.
    """
    properties: dict[str, object] = {}
    required: list[str] = []
    definitions: dict[str, object] = {}
    problems: list[str] = []
    for step in steps:
        schema = step.tool.spec.parameters
        for parameter, described in step.properties.items():
            if step is not steps[0] and parameter == step.piped:
                continue
            shown = f"{step.tool.name}_{parameter}" if parameter in properties else parameter
            if shown in properties:
                problems.append(f"two steps have the parameter {shown!r}: wrap one of them in a function")
            properties[shown] = described
            step.names[shown] = parameter
            if parameter in cast("Sequence[str]", schema.get("required", ())):
                required.append(shown)
        for key, definition in cast("Mapping[str, object]", schema.get("$defs", {})).items():
            if definitions.setdefault(key, definition) != definition:
                problems.append(f"two steps have different types with the name {key!r}: rename one of them")
    if problems:
        raise DeclarationError(f"pipeline {name}", problems)
    combined = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return combined | {"$defs": definitions} if definitions else combined


def _takes_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return True
    if "anyOf" in schema:
        return any(map(_takes_text, schema["anyOf"]))
    kinds = schema.get("type", "string" if "enum" in schema or "$ref" not in schema else "object")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)
