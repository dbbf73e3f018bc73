"""Prompts: a ready-made request for each published goal and Runnable, with the fields of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import mcp_types as types

from tactician.serve.mcp.tools import PublishedTool

_MOST_OFFERED: Final = 100


class ToolPrompt:
    """Prompt that asks for the use of a tool.

    Args:
        tool: the tool.
    """

    def __init__(self, tool: PublishedTool) -> None:
        self._tool = tool
        schema = tool.definition.input_schema
        self._fields: Mapping[str, Mapping[str, object]] = schema.get("properties") or {}
        required = schema.get("required") or []
        arguments = [
            types.PromptArgument(name=name, description=_describe(field), required=name in required)
            for name, field in self._fields.items()
        ]
        self.definition = types.Prompt(name=tool.name, description=tool.definition.description, arguments=arguments)

    def write(self, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """Return the prompt with values for its arguments."""
        lines = [f"Use the tool {self._tool.name}: {self._tool.definition.description}"]
        lines += [f"{name}: {value}" for name, value in arguments.items() if name in self._fields]
        text = types.TextContent(text="\n".join(lines))
        return types.GetPromptResult(
            description=self.definition.description, messages=[types.PromptMessage(role="user", content=text)]
        )

    def find_missing(self, arguments: Mapping[str, str]) -> list[str]:
        """Return the names of required arguments that are missing."""
        declared = self.definition.arguments or []
        return [argument.name for argument in declared if argument.required and argument.name not in arguments]

    def complete(self, argument: str, beginning: str) -> list[str]:
        """Return the values of an argument that has a fixed set of them, and begin so."""
        field = self._fields.get(argument, {})
        choices = ["true", "false"] if field.get("type") == "boolean" else field.get("enum", [])
        listed = choices if isinstance(choices, list) else []
        return [str(choice) for choice in listed if str(choice).startswith(beginning)][:_MOST_OFFERED]


def _describe(field: Mapping[str, object]) -> str | None:
    description = field.get("description")
    if isinstance(description, str):
        return description
    return None if field.get("type") == "string" else "JSON"
