"""Tools of servers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Self, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import override

from tactician.errors import InvalidArgumentsError, ToolError
from tactician.frozen import frozen
from tactician.llm import ToolCall, ToolSpec
from tactician.mcp.errors import McpError
from tactician.mcp.naming import ToolSelection
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools import NO_TRAITS, Tool, ToolOutput, deliver_artifact, describe_validation_error, matches_name

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool

_LONGEST_DESCRIPTION = 10_000
_LONGEST_SCHEMA = 100_000
_logger = logging.getLogger(__name__)


@frozen
class McpResult:
    """Result of a tool of a server.

    Attributes:
        output: the text and the pictures for the model.
        structured: the structured content for the program; `None` when there is none.
    """

    output: ToolOutput
    structured: Mapping[str, object] | None = None


CallTool: TypeAlias = Callable[[str, dict[str, object], RunContext], Awaitable[McpResult]]
"""Calls a tool by its name on the server."""


class McpTool(Tool):
    """Tool of a server.

    Attributes:
        original_name: the name on the server.
    """

    def __init__(self, spec: ToolSpec, call: CallTool) -> None:
        self.original_name = spec.name
        self._spec = spec
        self._call = call
        self._output_type: TypeAdapter[object] | None = None

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._spec

    def select(self, selection: ToolSelection) -> Self:
        """Return the tool as a selection names it."""
        selected = type(self)(replace(self._spec, name=selection.rename(self.original_name)), self._call)
        selected.original_name = self.original_name
        kinds = [kind for pattern, kind in selection.types if fnmatchcase(self.original_name, pattern)]
        selected._output_type = _create_adapter(kinds[-1]) if kinds else None
        selected.traits = replace(NO_TRAITS, needs_approval=matches_name(self.original_name, selection.approved))
        return selected

    @override
    async def call(self, arguments: str, context: RunContext) -> ToolOutput:
        try:
            values = ToolCall("", self.name, arguments).parse_arguments()
        except ValueError as error:
            raise InvalidArgumentsError(f"The arguments are not valid: {error}") from error
        try:
            result = await self._call(self.original_name, dict(values), context)
        except McpError as error:
            raise ToolError(str(error)) from error
        if result.structured is not None:
            deliver_artifact(self._read(result.structured), self.name, context)
        return result.output

    def _read(self, structured: Mapping[str, object]) -> object:
        """Return structured content as an object of the type that the program declared, if it has declared any.

        Raises:
            ToolError: when the content is not of the type.
        """
        if self._output_type is None:
            return structured
        is_wrapped = structured.keys() == {"result"}  # servers wrap what is not an object
        try:
            try:
                return self._output_type.validate_python(structured)
            except ValidationError:
                if not is_wrapped:
                    raise
                return self._output_type.validate_python(structured["result"])
        except ValidationError as error:
            problem = describe_validation_error(error)
            raise ToolError(f"{self.name}: the structured output is not of the declared type: {problem}") from error


@cache
def _create_adapter(kind: object) -> TypeAdapter[object]:
    return TypeAdapter(cast("type[object]", kind))


def create_tools(listed: Iterable[ListedTool], server: str, call: CallTool) -> tuple[McpTool, ...]:
    """Return the tools that a server lists. A tool that no model could use is left out, and logged."""
    tools: dict[str, McpTool] = {}
    for listed_tool in listed:
        if (problem := _find_problem(listed_tool)) is not None or listed_tool.name in tools:
            _logger.warning("a tool of the MCP server %s is left out: %s", server, problem or "its name is taken")
            continue
        description = replace_surrogates(listed_tool.description or listed_tool.title or "")[:_LONGEST_DESCRIPTION]
        tools[listed_tool.name] = McpTool(ToolSpec(listed_tool.name, description, listed_tool.input_schema), call)
    return tuple(tools.values())


def select_tools(tools: Iterable[McpTool], server: str, selection: ToolSelection) -> tuple[McpTool, ...]:
    """Return the tools that a selection takes, under their names for the model.

    Raises:
        ConfigurationError: when the server has no tool for a pattern.
    """
    known = tuple(tools)
    selection.check(server, (tool.original_name for tool in known))
    selected: dict[str, McpTool] = {}
    for tool in known:
        if selection.takes(tool.original_name):
            renamed = tool.select(selection)
            if selected.setdefault(renamed.name, renamed) is not renamed:
                _logger.warning("two tools of the MCP server %s have the name %s for a model", server, renamed.name)
    return tuple(selected.values())


def _find_problem(tool: ListedTool) -> str | None:
    if not tool.name or not tool.name.isprintable() or len(tool.name) > 200:
        return "its name is empty, too long or has characters that cannot be shown"
    if tool.input_schema.get("type") != "object":
        return f"the arguments of {tool.name} are not an object"
    if len(to_json(tool.input_schema, fallback=str)) > _LONGEST_SCHEMA:
        return f"the schema of {tool.name} is longer than {_LONGEST_SCHEMA:,} bytes"
    return None
