"""Tools, handoffs and guardrails of agents in blueprints."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import FunctionType
from typing import Annotated, NamedTuple, Self, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, model_validator
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from tactician.blueprint.blueprint import Node
from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools import (
    build_built_in_tool,
    export_built_in_tool,
    is_built_in_tool,
)
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Name, Part, ToolName, require_field
from tactician.blueprint.type_names import TypeName
from tactician.documents import Data
from tactician.guardrails import (
    AnyGuardrail,
    GuardrailLike,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
    registry,
)
from tactician.loop import Handoff, handoff, output_type
from tactician.names import NameProblem, find_import_path
from tactician.tools import FunctionTool, RunnableTool, Tool, Toolbox, ToolLike, as_tool, require_declared_tools

G = TypeVar("G", bound=AnyGuardrail)
TypeText: TypeAlias = Annotated[str, AfterValidator(lambda text: str(TypeName.of(text))), DEFERRED_IN_TEXT]
_GUARDRAILS: Mapping[str, tuple[type[AnyGuardrail], Callable[[GuardrailLike], AnyGuardrail]]] = {
    "inputGuardrails": (InputGuardrail, as_input_guardrail),
    "outputGuardrails": (OutputGuardrail, as_output_guardrail),
    "toolInputGuardrails": (ToolInputGuardrail, as_tool_input_guardrail),
    "toolOutputGuardrails": (ToolOutputGuardrail, as_tool_output_guardrail),
}
_AWARENESS = inspect.signature(Handoff).parameters["awareness"].default


class GuardrailPart(Part):
    """Guardrail: its registered name, or the name of its class or function."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [require_field("registryId"), require_field("className")]})

    registry_id: Name | None = None
    class_name: Name | None = None

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.registry_id is None and self.class_name is None:
            raise ValueError("say registryId or className")
        return self

    def to_data(self) -> dict[str, Data]:
        """Return the data of the part; only the id when the guardrail is registered."""
        return super().to_data() if self.registry_id is None else {"registryId": self.registry_id}


class HandoffPart(Part):
    """Handoff target, with its description."""

    name: ToolName
    description: str
    target: Node
    propagated_output_type: TypeText | None = None
    awareness: str | None = None


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


def build_handoffs(parts: Sequence[HandoffPart], builder: Builder) -> list[Handoff[object]]:
    """Return the handoffs that parts describe."""
    handoffs: list[Handoff[object]] = []
    for place, part in enumerate(parts):
        here = builder.at("handoffs", place)
        kind = find_type(part.propagated_output_type, here, "propagatedOutputType")
        if (target := here.build_node(part.target, "target")) is not None:
            awareness = _AWARENESS if part.awareness is None else part.awareness or None
            declared = handoff(target, part.name, part.description, propagated_output_type=kind, awareness=awareness)
            handoffs.append(declared)
    return handoffs


def export_handoffs(handoffs: Iterable[Handoff[object]], exporter: Exporter) -> tuple[HandoffPart, ...]:
    """Return the parts of handoffs."""
    parts: list[HandoffPart] = []
    for place, declared in enumerate(handoffs):
        here = exporter.at("handoffs", place)
        if declared.history is not None:
            here.add_problem(f"{declared.name}: a filter of the history cannot be saved in a blueprint")
        if (target := here.export_node(declared.target, "target")) is None:
            continue
        part = HandoffPart(
            name=declared.name,
            description=declared.spec.description,
            target=target,
            propagated_output_type=here.find_type_name(declared.propagated_output_type, "propagatedOutputType"),
            awareness=None if declared.awareness == _AWARENESS else declared.awareness or "",
        )
        parts.append(part)
    return tuple(parts)


def build_guardrails(parts: Sequence[GuardrailPart] | None, builder: Builder, field: str) -> list[GuardrailLike]:
    """Return the guardrails that the parts of this field name."""
    kind, as_guardrail = _GUARDRAILS[field]

    def build(part: GuardrailPart) -> AnyGuardrail:
        if part.registry_id is not None:
            return registry.find(kind, part.registry_id)
        return as_guardrail(cast("GuardrailLike", builder.names.find(part.class_name or "")))

    attempts = (builder.attempt(partial(build, part), field, place) for place, part in enumerate(parts or ()))
    return [guardrail for guardrail in attempts if guardrail is not None]


def export_guardrails(used: Iterable[AnyGuardrail], exporter: Exporter, field: str) -> tuple[GuardrailPart, ...]:
    """Return the parts of guardrails. A guardrail without an importable name is a problem, never left out."""
    parts: list[GuardrailPart] = []
    for place, guardrail in enumerate(used):
        named = None if guardrail.registered is not None else _find_guardrail_name(guardrail)
        if guardrail.registered is None and named is None:
            give = f'give it a name, as in @guardrails.{guardrail.kind}_guardrail("{guardrail.name}")'
            exporter.add_problem(
                f"the guardrail {guardrail.name!r} is not registered under a name; {give}", field, place
            )
        else:
            parts.append(GuardrailPart(registry_id=guardrail.registered, class_name=named))
    return tuple(parts)


def find_type(name: str | None, builder: Builder, field: str) -> type[object] | None:
    """Return the type with a name."""

    def find(path: str) -> type[object]:
        if not isinstance(kind := builder.names.find(path), type):
            raise NameProblem(f"{path!r} is not a class")
        return kind

    def resolve(text: str) -> type[object]:
        kind = TypeName.of(text).resolve(find)
        try:
            output_type(kind)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise NameProblem(f"{text!r} has no JSON form: {str(error).splitlines()[0]}") from error
        return kind

    return None if name is None else builder.attempt(lambda: resolve(name), field)


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


def _find_guardrail_name(guardrail: AnyGuardrail) -> str | None:
    source = guardrail.source
    if inspect.isroutine(source) or isinstance(source, type):
        return find_import_path(source)
    return find_import_path(type(source)) if is_default_instance(source) else None
