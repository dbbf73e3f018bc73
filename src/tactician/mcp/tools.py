"""Tools of servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Self, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import override

from tactician.errors import InvalidArgumentsError, ToolError
from tactician.frozen import frozen
from tactician.llm import ToolCall
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.loggers import get_logger
from tactician.mcp.errors import McpError
from tactician.mcp.structured import unwrap, unwrap_schema, write_result
from tactician.mcp.tool_selection import ToolSelection
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools import Tool, ToolOutput
from tactician.tools.artifacts import deliver_artifact
from tactician.tools.function import describe_validation_error
from tactician.tools.selection import matches_name
from tactician.tools.traits import ToolTraits

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool

_LONGEST_DESCRIPTION = 10_000
_LONGEST_SCHEMA = 100_000
_logger = get_logger(__name__)


@frozen
class McpResult:
    """Result of a tool of a server.

    Attributes:
        output: the text and the pictures for the model.
        structured: the structured content for the program, or `None`.
        texts: the texts, without what describes pictures and resources.
    """

    output: ToolOutput
    structured: Mapping[str, object] | None = None
    texts: tuple[str, ...] = ()

    def for_scripts(self) -> ToolOutput:
        """Return the output as scripts get it: data as JSON, also where a text for readers stands beside it."""
        text = write_result(self.texts, self.structured)
        return self.output if text is None else replace(self.output, text=text)


CallTool: TypeAlias = Callable[[str, dict[str, object], RunContext], Awaitable[McpResult]]
"""Calls a tool by its name on the server."""


class McpTool(Tool):
    """Tool of a server.

    Attributes:
        original_name: the name on the server.
    """

    def __init__(self, spec: ToolSpec, call: CallTool, output_schema: JsonSchema | None = None) -> None:
        self.original_name = spec.name
        self._spec = spec
        self._call = call
        self._output_schema = output_schema
        self._output_type: TypeAdapter[object] | None = None
        self._is_for_scripts = False

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    @override
    def output_schema(self) -> JsonSchema | None:
        return self._output_schema

    @override
    def for_scripts(self) -> Self:
        changed = copy(self)
        changed._is_for_scripts = True
        return changed

    def select(self, selection: ToolSelection) -> Self:
        """Return the tool as a selection names it."""
        selected = copy(self)
        selected._spec = replace(self._spec, name=selection.rename(self.original_name))
        kinds = [kind for pattern, kind in selection.types if fnmatchcase(self.original_name, pattern)]
        selected._output_type = _create_adapter(kinds[-1]) if kinds else None
        if matches_name(self.original_name, selection.approved):
            selected.traits = ToolTraits(needs_approval=True, required_role=selection.required_role)
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
        return result.for_scripts() if self._is_for_scripts else result.output

    def _read(self, structured: Mapping[str, object]) -> object:
        """Return structured content as an object of the type that the program declared, if it has declared any.

        Raises:
            ToolError: when the content is not of the type.
        """
        if self._output_type is None:
            return structured
        try:
            try:
                return self._output_type.validate_python(structured)
            except ValidationError:
                if (value := unwrap(structured)) is structured:
                    raise
                return self._output_type.validate_python(value)
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
        spec = ToolSpec(listed_tool.name, description, listed_tool.input_schema)
        tools[listed_tool.name] = McpTool(spec, call, _find_output_schema(listed_tool))
    return tuple(tools.values())


def is_task(tool: ListedTool) -> bool:
    """Return whether a tool runs as a task only."""
    return tool.execution is not None and tool.execution.task_support == "required"


def is_repeatable(tool: ListedTool) -> bool:
    """Return whether the author of a tool says that it may be called again with the same arguments."""
    hints = tool.annotations
    return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)


def select_tools(tools: Iterable[McpTool], server: str, selection: ToolSelection) -> tuple[McpTool, ...]:
    """Return the tools that a selection takes, under their names for the model.

    Raises:
        ConfigurationError: when the server has no tool for a pattern.
    """
    all_tools = tuple(tools)
    selection.check(server, (tool.original_name for tool in all_tools))
    selected: dict[str, McpTool] = {}
    for tool in all_tools:
        if selection.takes(tool.original_name):
            renamed = tool.select(selection)
            if selected.setdefault(renamed.name, renamed) is not renamed:
                _logger.warning("two tools of the MCP server %s have the name %s for a model", server, renamed.name)
    return tuple(selected.values())


def _find_output_schema(tool: ListedTool) -> JsonSchema | None:
    """Return the schema of the data that a tool gives, or `None`, also for a schema that is too long to be of use."""
    if tool.output_schema is None or len(to_json(tool.output_schema, fallback=str)) > _LONGEST_SCHEMA:
        return None
    return unwrap_schema(tool.output_schema)


def _find_problem(tool: ListedTool) -> str | None:
    if not tool.name or not tool.name.isprintable() or len(tool.name) > 200:
        return "its name is empty, too long or has characters that cannot be shown"
    if tool.input_schema.get("type") != "object":
        return f"the arguments of {tool.name} are not an object"
    if len(to_json(tool.input_schema, fallback=str)) > _LONGEST_SCHEMA:
        return f"the schema of {tool.name} is longer than {_LONGEST_SCHEMA:,} bytes"
    return None
