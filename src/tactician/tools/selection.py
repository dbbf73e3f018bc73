"""Selection of tools by their own names, and other names for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TypeAlias

from tactician.errors import DeclarationError
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.tools.tool import Tool, ToolOutput, is_tool_name
from tactician.tools.toolbox import require_declared_tools

NameFilter: TypeAlias = Callable[[str], bool] | str | Sequence[str]
"""Rule for names: a function, or patterns such as `search` and `brave_*`."""
NamingStrategy: TypeAlias = Callable[[str], str] | str
"""Function from a name to a new name, or a prefix."""


class RenamedTool(Tool):
    """Tool under another name.

    Args:
        tool: the tool.
        name: the name.
    """

    def __init__(self, tool: Tool, name: str) -> None:
        self.traits = tool.traits
        self._tool = tool
        self._spec = replace(tool.spec, name=name)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    @property
    def output_schema(self) -> JsonSchema | None:
        """The JSON schema of the data that the tool gives."""
        return self._tool.output_schema

    def for_scripts(self) -> RenamedTool:
        """Return the tool as scripts call it."""
        return RenamedTool(self._tool.for_scripts(), self.name)

    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Call the tool.

        Raises:
            ToolError: when the tool raises it.
        """
        return await self._tool.call(arguments, context)


def select_tools(
    tools: Iterable[Tool], *, only: NameFilter | None = None, named: NamingStrategy | None = None
) -> tuple[Tool, ...]:
    """Return the tools that a filter lets through, under other names.

    Args:
        tools: the tools.
        only: the filter, on the own names of the tools; all by default.
        named: the other names; their own by default.

    Raises:
        DeclarationError: when no tool is left, or a name is not valid or is used twice.
    """
    every = tuple(tools)
    chosen = [tool for tool in every if only is None or matches_name(tool.name, only)]
    if every and not chosen:
        raise DeclarationError("tools", [f"the filter lets no tool through: {', '.join(tool.name for tool in every)}"])
    if named is None:
        return tuple(chosen)
    names = [f"{named}{tool.name}" if isinstance(named, str) else named(tool.name) for tool in chosen]
    problems = [f"no provider takes the name {name!r}" for name in names if not is_tool_name(name)]
    problems += [f"{name!r} is used twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if problems:
        raise DeclarationError("names of tools", problems)
    return tuple(RenamedTool(tool, name) for tool, name in zip(chosen, names, strict=True))


def matches_name(name: str, rule: NameFilter) -> bool:
    """Return whether a name satisfies a rule."""
    if callable(rule):
        return rule(name)
    return any(fnmatchcase(name, pattern) for pattern in ((rule,) if isinstance(rule, str) else rule))


class ToolObject(Iterable[Tool]):
    """Methods of an object that are declared with `@tool`, filtered and under other names.

    `Agent(tools=[*ToolObject(calculator, named="calc_")])`, `ToolGroup("math", ToolObject(...))`.

    Args:
        owner: the object.
        only: the filter, on the own names of the methods; all by default.
        named: the other names; their own by default.

    Raises:
        DeclarationError: when no tool is left, or a name is not valid or is used twice.
    """

    def __init__(self, owner: object, *, only: NameFilter | None = None, named: NamingStrategy | None = None) -> None:
        self._owner = owner
        self._tools = select_tools(require_declared_tools(owner), only=only, named=named)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)

    def __repr__(self) -> str:
        return f"ToolObject({type(self._owner).__name__})"
