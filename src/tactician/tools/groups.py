"""Tool groups: named sets of tools, which the platform provides, and the names of common ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import StrEnum
from inspect import signature
from typing import Final, TypeAlias, cast

from typing_extensions import override

from tactician.errors import ConfigurationError, DeclarationError
from tactician.runs import Runnable
from tactician.suggestions import did_you_mean, suggest_options
from tactician.tools.provider import ToolProvider
from tactician.tools.selection import matches_name
from tactician.tools.tool import Tool
from tactician.tools.toolbox import as_tool, find_declared_tools, require_declared_tools

ToolSource: TypeAlias = object
"""A tool, a Runnable, a provider of tools, an object with methods declared with `@tool`, or several of these and of
plain functions. Or a function that gives these when they are needed, plain or `async`."""


class ToolGroupPermission(StrEnum):
    """Resource outside the program that the tools of a group use."""

    INTERNET_ACCESS = "internet_access"
    HOST_ACCESS = "host_access"


@suggest_options
class ToolGroup(ToolProvider):
    """Tools for a purpose: `ToolGroup("web", [search, fetch])`. Each tool carries the name of the group.

    Args:
        name: the purpose of the tools, by which agents ask for them.
        tools: the tools, a provider of tools, an object with methods that are tools, or a function without parameters
            that returns them. It is called whenever an agent needs the tools, so that they can come from elsewhere.
        description: the abilities of the tools, for people.
        provider: the provider of the tools.
        version: the version of the group.
        permissions: resources outside the program that they use. Permissions are informational only.
        exclude: names, or patterns such as `brave_local_*`, of tools that are left out.

    Raises:
        DeclarationError: when a tool is not declared correctly, or the function that gives them has parameters.
    """

    def __init__(
        self,
        name: str,
        tools: ToolSource,
        *,
        description: str = "",
        provider: str = "",
        version: str = "",
        permissions: Iterable[ToolGroupPermission] = (),
        exclude: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._exclude = tuple(exclude)
        self.description = description
        self.provider = provider
        self.version = version
        self.permissions = frozenset(permissions)
        self._give = _check_supplier(name, tools) if callable(tools) and not _is_source(tools) else None
        self._parts = () if self._give is not None else self._list_parts(tools)

    def __repr__(self) -> str:
        return f"ToolGroup({self.name!r})"

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the tools; a function that supplies them is called each time.

        Raises:
            Exception: when the function raises it, with the name of the group as a note.
            DeclarationError: when any of the tools is not declared correctly.
        """
        try:
            parts = self._parts if self._give is None else await self._ask_supplier(self._give)
            loaded = [await part.load_tools() if isinstance(part, ToolProvider) else (part,) for part in parts]
        except Exception as error:
            error.add_note(f"in the tool group {self.name!r}")
            raise
        tools = (tool for some in loaded for tool in some)
        return tuple(_set_group(self.name, tool) for tool in tools if not matches_name(tool.name, self._exclude))

    @override
    async def aclose(self) -> None:
        """Close the providers of the tools."""
        for part in self._parts:
            if isinstance(part, ToolProvider):
                await part.aclose()

    async def _ask_supplier(self, give: Callable[[], object]) -> tuple[Tool | ToolProvider, ...]:
        source = give()
        return self._list_parts(await source if isinstance(source, Awaitable) else source)

    def _list_parts(self, source: ToolSource) -> tuple[Tool | ToolProvider, ...]:
        several = source if isinstance(source, Iterable) and not _is_source(source) else (source,)
        parts = [(item,) if isinstance(item, ToolProvider) else _list_tools(item) for item in several]
        return tuple(_set_group(self.name, part) if isinstance(part, Tool) else part for some in parts for part in some)


def list_groups(groups: Iterable[ToolGroup] | Mapping[str, ToolSource]) -> list[ToolGroup]:
    """Return tool groups, also those in a mapping of names to what they are made of.

    Raises:
        ConfigurationError: when something else is among them.
    """
    if not isinstance(groups, Mapping):
        several = list(groups)
        for group in cast("list[object]", several):
            if not isinstance(group, ToolGroup):
                raise ConfigurationError(f"tool_groups has {group!r}; write ToolGroup('web', [search, fetch])")
        return several
    return [ToolGroup(name, source) for name, source in groups.items()]


def merge_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools without duplicates.

    Raises:
        ConfigurationError: when different ones have the same name.
    """
    tools_by_name: dict[str, Tool] = {}
    for tool in tools:
        if (first := tools_by_name.setdefault(tool.name, tool)).spec != tool.spec:
            groups = [repr(group) if (group := one.traits.group) else "an agent's providers" for one in (first, tool)]
            raise ConfigurationError(
                f"The tool groups {' and '.join(groups)} have different tools of the name {tool.name!r}. Use only one "
                "of these groups, or rename either tool."
            )
    return tuple(tools_by_name.values())


def describe_unknown_groups(names: Iterable[str], groups: Mapping[str, ToolGroup]) -> str:
    """Return the message for unknown tool groups, with the remedy."""
    distinct = tuple(dict.fromkeys(names))
    hint = did_you_mean(distinct[0], groups)
    listed = " or ".join(map(repr, distinct))
    example = f'ToolGroup("{distinct[0]}", [...])'
    return (
        f"There is no tool group {listed} here.{hint} Known: {', '.join(groups) or 'none'}. Register it, with "
        f"platform.register({example}), and run on that platform; or use {example} itself."
    )


def _check_supplier(group: str, function: Callable[..., object]) -> Callable[[], object]:
    try:
        signature(function).bind()
    except TypeError:
        problem = "the function that returns its tools takes no arguments; if it is a tool itself, put it into a list"
        raise DeclarationError(f"ToolGroup({group!r})", [problem]) from None
    return function


def _is_source(value: object) -> bool:
    """Return whether the value is a tool, a Runnable, or an object with methods that are tools."""
    return isinstance(value, Tool | Runnable) or bool(find_declared_tools(value))


def _list_tools(value: object) -> tuple[Tool, ...]:
    if isinstance(value, Tool | Runnable) or (callable(value) and not _is_source(value)):
        return (as_tool(value),)
    return require_declared_tools(value)


def _set_group(group: str, tool: Tool) -> Tool:
    if tool.traits.group == group:
        return tool
    carrying = copy(tool)
    carrying.traits = replace(tool.traits, group=group)
    return carrying


class CoreToolGroups:
    """Names of common tool groups. Only `MATH` comes with the package; a platform provides the others.

    Attributes:
        WEB: search in the web and pages.
        MATH: arithmetic.
        MAPS: places and routes.
        BROWSER_AUTOMATION: a browser.
        GITHUB: repositories, issues and pull requests.
    """

    WEB: Final = "web"
    MATH: Final = "math"
    MAPS: Final = "maps"
    BROWSER_AUTOMATION: Final = "browser_automation"
    GITHUB: Final = "github"


def create_math_group() -> ToolGroup:
    """Create the group of tools for arithmetic, which are loaded when they are needed."""
    return ToolGroup(CoreToolGroups.MATH, _load_math, description="Arithmetic", provider="Tactician")


def _load_math() -> ToolSource:
    from tactician.tools.builtin.math_tools import MathTools

    return MathTools()
