"""Tools in blueprints: their import paths, agents as tools, and built-in tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from types import FunctionType
from typing import NamedTuple, cast

from tactician.blueprint.blueprint import Node
from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools import build_built_in_tool, export_built_in_tool, is_built_in_tool
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.schema_base import Part, ToolName
from tactician.names import NameProblem, find_import_path
from tactician.tools import FunctionTool, RunnableTool, Tool, Toolbox, ToolLike, as_tool, require_declared_tools


class AgentToolPart(Part):
    """Agent or constellation as a tool."""

    name: ToolName
    description: str
    target: Node


class ExportedTools(NamedTuple):
    """Tools as the fields of a blueprint.

    Attributes:
        names: the import paths.
        agents: the agents that are tools.
        built_in: the built-in tools.
    """

    names: tuple[str, ...]
    agents: tuple[AgentToolPart, ...]
    built_in: tuple[Part | str, ...]


def build_tools(
    names: Sequence[str], agents: Sequence[AgentToolPart], built_in: Sequence[Part | str], builder: Builder
) -> list[ToolLike]:
    """Return the tools with these names, these agents as tools, and built-in tools."""
    tools: list[ToolLike] = []
    for place, name in enumerate(names):
        tools += builder.attempt(partial(_find_tools, name, builder), "toolClassNames", place) or ()
    for place, part in enumerate(agents):
        if (target := builder.build_node(part.target, "agentTools", place, "target")) is not None:
            tools.append(target.as_tool(part.name, part.description))
    made = (
        build_built_in_tool(item, builder.at("builtInTools", place), _find_step) for place, item in enumerate(built_in)
    )
    return [*tools, *(tool for tool in made if tool is not None)]


def export_tools(tools: Toolbox, exporter: Exporter) -> ExportedTools:
    """Return tools as the fields of a blueprint."""
    for provider in tools.providers:
        how = "make a tool group of it, name the group, and register it where the agent runs"
        exporter.omit(f"the tools of {provider!r}: {how}", "toolClassNames")
    plain: list[Tool] = []
    agents: list[AgentToolPart] = []
    built_in: list[Part | str] = []
    for tool in tools:
        if is_built_in_tool(tool):
            here = exporter.at("builtInTools", len(built_in))
            built_in.append(export_built_in_tool(tool, here, _find_step_name) or tool.name)
        elif not isinstance(tool, RunnableTool):
            plain.append(tool)
        elif tool.has_typed_arguments:
            exporter.at("agentTools").add_problem(f"{tool.name}: typed arguments cannot be saved in a blueprint")
        elif (target := exporter.export_node(tool.runnable, "agentTools", len(agents), "target")) is not None:
            agents.append(AgentToolPart(name=tool.name, description=tool.spec.description, target=target))
    return ExportedTools(tuple(_list_tool_names(plain, exporter)), tuple(agents), tuple(built_in))


def _find_tools(name: str, builder: Builder) -> Sequence[Tool]:
    value = builder.names.find(name)
    if isinstance(value, type):
        instance = builder.names.create(name, value)
        return (instance,) if isinstance(instance, Tool) else require_declared_tools(instance)
    return (_create_tool(value) if isinstance(value, FunctionType) else as_tool(cast("ToolLike", value)),)


def _find_step(name: str, here: Builder) -> ToolLike | None:
    """Return the tool with a name; a class with several tools is not a step of a pipeline."""

    def find() -> Tool:
        found = _find_tools(name, here)
        if len(found) != 1:
            raise NameProblem(f"{name!r} has {len(found)} tools: name one of them")
        return found[0]

    try:
        return find()
    except NameProblem as error:
        here.add_problem(str(error))
        return None


def _find_step_name(tool: Tool) -> str | None:
    return _find_tool_name(tool, getattr(getattr(tool, "__wrapped__", None), "__self__", None))


@lru_cache(maxsize=512)
def _create_tool(function: FunctionType) -> Tool:
    """Return a function as a tool, whose schema takes longer than the rest of an agent."""
    return as_tool(function)


def _list_tool_names(tools: Sequence[Tool], exporter: Exporter) -> Iterator[str]:
    whole: set[int] = set()
    for tool in tools:
        owner = getattr(getattr(tool, "__wrapped__", None), "__self__", None)
        if owner is not None and id(owner) in whole:
            continue
        if (
            owner is not None
            and _has_all_tools(owner, tools)
            and is_default_instance(owner)
            and find_import_path(type(owner))
        ):
            whole.add(id(owner))
            yield str(find_import_path(type(owner)))
        elif (name := _find_tool_name(tool, owner)) is not None:
            yield name
        else:
            why = "no import finds it, or it cannot be made without arguments"
            exporter.omit(f"the tool {tool.name!r}: {why}", "toolClassNames")


def _has_all_tools(owner: object, tools: Sequence[Tool]) -> bool:
    theirs = {tool.name for tool in tools if getattr(getattr(tool, "__wrapped__", None), "__self__", None) is owner}
    return {tool.name for tool in require_declared_tools(owner)} == theirs


def _find_tool_name(tool: Tool, owner: object) -> str | None:
    """Return the name by which an import finds an equal tool."""
    if not isinstance(tool, FunctionTool):
        return find_import_path(type(tool)) if is_default_instance(tool) else None
    if owner is not None and not is_default_instance(owner):
        return None
    name = find_import_path(tool)
    if name is None or owner is not None:
        return name
    exported = getattr(sys.modules[tool.__wrapped__.__module__], tool.__wrapped__.__name__, None)
    return name if exported is tool or _is_same_tool(as_tool(tool.__wrapped__), tool) else None


def _is_same_tool(other: Tool, tool: FunctionTool[..., object]) -> bool:
    """Return whether a tool made of the function alone equals a tool declared with options."""
    known = isinstance(other, FunctionTool) and other.blocking == tool.blocking
    return known and other.spec == tool.spec and other.traits == tool.traits
