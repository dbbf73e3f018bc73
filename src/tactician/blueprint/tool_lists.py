"""Tools in blueprints: their import paths, agents as tools, and built-in tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from types import FunctionType
from typing import Any, Literal, NamedTuple, cast

from tactician.blueprint.abilities import TypeText, find_type
from tactician.blueprint.blueprint import Node
from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools.building import build_built_in_tool
from tactician.blueprint.built_in_tools.exporting import export_built_in_tool, is_built_in_tool
from tactician.blueprint.built_in_tools.parts import STEP_KINDS
from tactician.blueprint.code_tools import CodeToolPart, build_code_tool, export_code_tool
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.functions import find_function
from tactician.blueprint.provided_tools import ProvidedToolsPart, find_provider_export
from tactician.blueprint.schema_base import Flag, Name, Part, ToolName
from tactician.code_mode import CodeTool
from tactician.names import NameProblem, find_import_path
from tactician.runs import Input
from tactician.tools import FunctionTool, RunnableTool, Tool, as_tool, require_declared_tools
from tactician.tools.runnable import ToolParameter
from tactician.tools.toolbox import Toolbox, ToolLike


class AgentStepPart(Part):
    """Agent or constellation as a step of a pipeline: its input is the output of the step before."""

    tool: Literal["run_agent"]
    target: Node
    name: ToolName | None = None
    description: str | None = None


STEP_KINDS["run_agent"] = AgentStepPart


def build_agent_step(part: AgentStepPart, builder: Builder) -> Tool | None:
    """Return the agent as a tool; `None` when there was a problem."""
    target = builder.build_node(part.target, "target")
    return None if target is None else RunnableTool(target, part.name, part.description)


def export_agent_step(tool: RunnableTool[Any], exporter: Exporter) -> AgentStepPart | None:
    """Return the part of an agent as a tool; `None` when there was a problem."""
    if tool.arguments is not None or tool.prompt is not None or tool.parameters:
        exporter.add_problem(f"the tool {tool.name!r}: an agent with arguments of its own is no step of a blueprint")
        return None
    if (target := exporter.export_node(tool.runnable, "target")) is None:
        return None
    usual = RunnableTool(tool.runnable)
    fields = {
        "tool": "run_agent",
        "target": target,
        "name": tool.name if tool.name != usual.name else None,
        "description": tool.description if tool.description != usual.description else None,
    }
    return exporter.make(AgentStepPart, fields)


class ParameterPart(Part):
    """Parameter of an agent as a tool."""

    name: ToolName
    type: TypeText = "str"
    description: str = ""
    required: Flag = True


class AgentToolPart(Part):
    """Agent or constellation as a tool, whose arguments are a text, parameters, or of a type that an import finds."""

    name: ToolName
    description: str
    target: Node
    parameters: tuple[ParameterPart, ...] | None = None
    arguments: TypeText | None = None
    prompt: Name | None = None


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
        tools += [made for made in (_build_agent_tool(part, builder.at("agentTools", place)),) if made is not None]
    made = (_build_built_in(item, builder.at("builtInTools", place)) for place, item in enumerate(built_in))
    return [*tools, *(tool for tool in made if tool is not None)]


def _build_built_in(item: Part | str, builder: Builder) -> ToolLike | None:
    if isinstance(item, ProvidedToolsPart):
        return item.build_tools(builder)
    if isinstance(item, CodeToolPart):
        return build_code_tool(item, builder, _build_step)
    return build_built_in_tool(item, builder, _build_step)


def export_tools(tools: Toolbox, exporter: Exporter) -> ExportedTools:
    """Return tools as the fields of a blueprint."""
    plain: list[Tool] = []
    agents: list[AgentToolPart] = []
    built_in: list[Part | str] = []
    for provider in tools.providers:
        if isinstance(provider, CodeTool):
            part_exporter = exporter.at("builtInTools", len(built_in))
            built_in.append(export_code_tool(provider, part_exporter, _export_step) or provider.name)
            continue
        if (export := find_provider_export(provider)) is not None:
            if (part := export(provider, exporter.at("builtInTools", len(built_in)))) is not None:
                built_in.append(part)
            continue
        how = "make a tool group of it, name the group, and register it where the agent runs"
        exporter.omit(f"the tools of {provider!r}: {how}", "toolClassNames")
    for tool in tools:
        if is_built_in_tool(tool):
            part_exporter = exporter.at("builtInTools", len(built_in))
            built_in.append(export_built_in_tool(tool, part_exporter, _export_step) or tool.name)
        elif not isinstance(tool, RunnableTool):
            plain.append(tool)
        elif (agent := _export_agent_tool(tool, exporter.at("agentTools", len(agents)))) is not None:
            agents.append(agent)
    return ExportedTools(tuple(_list_tool_names(plain, exporter)), tuple(agents), tuple(built_in))


def _build_agent_tool(part: AgentToolPart, builder: Builder) -> Tool | None:
    if part.parameters and (part.arguments or part.prompt):
        builder.add_problem("there are arguments too: leave out either", "parameters")
        return None
    parameters = [_build_parameter(item, builder.at("parameters", n)) for n, item in enumerate(part.parameters or ())]
    built_parameters = [parameter for parameter in parameters if parameter is not None]
    arguments = find_type(part.arguments, builder, "arguments")
    prompt = find_function(part.prompt, builder, "prompt")
    if (target := builder.build_node(part.target, "target")) is None or len(built_parameters) < len(parameters):
        return None
    return builder.attempt(
        lambda: RunnableTool(
            target,
            part.name,
            part.description,
            arguments=arguments,
            prompt=cast("Callable[[object], Input] | None", prompt),
            parameters=built_parameters,
        ),
        "arguments" if part.arguments else "parameters",
    )


def _build_parameter(part: ParameterPart, builder: Builder) -> ToolParameter | None:
    kind = find_type(part.type, builder, "type")
    return None if kind is None else ToolParameter(part.name, kind, part.description, part.required)


def _export_agent_tool(tool: RunnableTool[Any], exporter: Exporter) -> AgentToolPart | None:
    if (target := exporter.export_node(tool.runnable, "target")) is None:
        return None
    fields = {
        "name": tool.name,
        "description": tool.spec.description,
        "target": target,
        "parameters": tuple(
            _export_parameter(parameter, exporter.at("parameters", place))
            for place, parameter in enumerate(tool.parameters)
        )
        or None,
        "arguments": exporter.find_type_name(tool.arguments, "arguments"),
        "prompt": None if tool.prompt is None else exporter.find_import_path(tool.prompt, "the function", "prompt"),
    }
    return exporter.make(AgentToolPart, fields)


def _export_parameter(parameter: ToolParameter, exporter: Exporter) -> ParameterPart:
    kind = exporter.find_type_name(parameter.kind, "type") or "str"
    return ParameterPart(
        name=parameter.name, type=kind, description=parameter.description, required=parameter.is_required
    )


def _find_tools(name: str, builder: Builder) -> Sequence[Tool]:
    value = builder.names.find(name)
    if isinstance(value, type):
        instance = builder.names.create(name, value)
        return (instance,) if isinstance(instance, Tool) else require_declared_tools(instance)
    return (_create_tool(value) if isinstance(value, FunctionType) else as_tool(cast("ToolLike", value)),)


def _build_step(item: Part | str, builder: Builder) -> ToolLike | None:
    """Return the tool with a name, or an agent; a class with several tools is not a step of a pipeline."""
    if isinstance(item, AgentStepPart):
        return build_agent_step(item, builder)
    name = str(item)

    def find() -> Tool:
        matches = _find_tools(name, builder)
        if len(matches) != 1:
            raise NameProblem(f"{name!r} has {len(matches)} tools: name one of them")
        return matches[0]

    try:
        return find()
    except NameProblem as error:
        builder.add_problem(str(error))
        return None


def _export_step(tool: Tool, exporter: Exporter) -> Part | str | None:
    if isinstance(tool, RunnableTool):
        return export_agent_step(tool, exporter)
    name = _find_tool_name(tool, getattr(getattr(tool, "__wrapped__", None), "__self__", None))
    if name is None:
        exporter.add_problem(f"the tool {tool.name!r}: no import finds it, or it cannot be made without arguments")
    return name


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
    is_alike = isinstance(other, FunctionTool) and other.blocking == tool.blocking
    return is_alike and other.spec == tool.spec and other.traits == tool.traits
