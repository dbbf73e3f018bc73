"""Blueprints of agents: `agent` and `supervisor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import Field

from tactician.agents import Agent, SupervisorAgent
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.blueprint.abilities import (
    GuardrailPart,
    HandoffPart,
    TypeText,
    build_guardrails,
    build_handoffs,
    export_guardrails,
    export_handoffs,
    find_type,
)
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools.parts import BuiltInTool
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.knowledge import (
    Entry,
    ReferenceEntry,
    build_contributors,
    build_references,
    export_contributors,
    export_references,
)
from tactician.blueprint.models import ModelParts, OptionsPart, ResponderPart, TracePart, export_trace, set_trace
from tactician.blueprint.rules import RulePart, build_rules, export_rules
from tactician.blueprint.schema_base import Name, Part, Positive, Temperature, convert_type
from tactician.blueprint.tool_lists import AgentToolPart, build_tools, export_tools
from tactician.blueprint.turn_settings import (
    AutonomyPart,
    Instructions,
    WindowPart,
    build_autonomy,
    build_instructions,
    build_window,
    export_autonomy,
    export_instructions,
    export_window,
)
from tactician.documents.forms import form_of, list_form_fields
from tactician.llm import TraceMetadata
from tactician.runs import Runnable
from tactician.text import snake_case
from tactician.tools import ToolGroup

_Guardrails: TypeAlias = tuple[GuardrailPart, ...]


_CODED: Final = frozenset(
    {
        *("model", "instructions", "tools", "tool_groups", "references", "contributors", "handoffs"),
        *("input_guardrails", "output_guardrails", "tool_input_guardrails", "tool_output_guardrails"),
        *("window", "autonomy", "rules"),
    }
)
"""The settings of an agent that JSON has in a form of their own; `AgentFields` writes them out."""
PLAIN: Final = tuple(field.name for field in list_form_fields(AgentSettings, without=_CODED))
"""The settings of an agent that JSON has as they are."""


@form_of(AgentSettings, only=PLAIN, convert=convert_type, is_optional=True)
class AgentFields(Blueprint):
    """Common fields of agents and supervisors. Times are in seconds."""

    name: Name
    model: Name
    instructions: Instructions
    max_turns: Positive
    temperature: Temperature | None = None
    responder: ResponderPart | None = None
    tool_class_names: tuple[Name, ...] | None = None
    handoffs: tuple[HandoffPart, ...] | None = None
    input_guardrails: _Guardrails | None = None
    output_guardrails: _Guardrails | None = None
    output_type: TypeText | None = None
    trace_metadata: TracePart | None = None
    context_management: WindowPart | None = None
    # What agentle4j does not have, besides the settings that JSON has as they are.
    options: OptionsPart | None = None
    tool_groups: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    built_in_tools: tuple[BuiltInTool, ...] | None = None
    references: tuple[ReferenceEntry, ...] | None = None
    contributors: tuple[Entry, ...] | None = None
    tool_input_guardrails: _Guardrails | None = None
    tool_output_guardrails: _Guardrails | None = None
    autonomy: AutonomyPart | None = None
    rules: tuple[RulePart, ...] | None = None

    def build_settings(self, builder: Builder) -> AgentSettings:
        """Return the settings of the agent, without its name and its output type."""
        values = {name: value for name in PLAIN if (value := getattr(self, name)) is not None}
        settings = cast("AgentSettings", values)
        settings |= {
            "model": ModelParts(self.model, self.responder, self.temperature, self.options).build(builder),
            "instructions": build_instructions(self.instructions, builder) or "",
            "tools": build_tools(
                self.tool_class_names or (), self.agent_tools or (), self.built_in_tools or (), builder
            ),
            "handoffs": build_handoffs(self.handoffs or (), builder),
            "tool_groups": self.tool_groups or (),
            "references": build_references(self.references or (), builder),
            "contributors": build_contributors(self.contributors or (), builder),
            "input_guardrails": build_guardrails(self.input_guardrails, builder, "inputGuardrails"),
            "output_guardrails": build_guardrails(self.output_guardrails, builder, "outputGuardrails"),
            "tool_input_guardrails": build_guardrails(self.tool_input_guardrails, builder, "toolInputGuardrails"),
            "tool_output_guardrails": build_guardrails(self.tool_output_guardrails, builder, "toolOutputGuardrails"),
        }
        if self.rules:
            settings["rules"] = build_rules(self.rules, builder)
        if self.context_management is not None:
            settings["window"] = build_window(self.context_management, builder.at("contextManagement"))
        if (autonomy := self.autonomy) is not None:
            settings["autonomy"] = builder.attempt(lambda: build_autonomy(autonomy), "autonomy")
        return settings


def export_fields(agent: Agent[object], exporter: Exporter) -> dict[str, Any]:
    """Return the fields of the blueprint of an agent."""
    spec, guards = agent.spec, agent.spec.guards
    model, instructions = ModelParts.from_model(spec.model, exporter), spec.instructions
    tools = export_tools(spec.tools, exporter)
    window = spec.window
    plain = {name: value for name in PLAIN if (value := getattr(spec, name)) != getattr(AgentSpec, name)}
    return {
        **plain,
        "name": spec.name,
        "model": model.model,
        "instructions": export_instructions(instructions, exporter),
        "max_turns": spec.max_turns,
        "temperature": model.temperature,
        "responder": model.responder,
        "tool_class_names": tools.names,
        "handoffs": export_handoffs(spec.handoffs, exporter),
        "input_guardrails": export_guardrails(guards.input.all, exporter, "inputGuardrails"),
        "output_guardrails": export_guardrails(guards.output, exporter, "outputGuardrails"),
        "output_type": exporter.find_type_name(spec.output_type, "outputType"),
        "trace_metadata": export_trace(_export_trace(agent.trace, model.trace)),
        "context_management": None if window is None else export_window(window, exporter.at("contextManagement")),
        "id": spec.id if spec.id != snake_case(spec.name) else None,
        "description": spec.own_description or None,
        "options": model.options,
        "tool_groups": _export_group_names(spec.tool_groups, exporter),
        "references": export_references(spec.references, exporter),
        "contributors": export_contributors(spec.contributors, exporter),
        "agent_tools": tools.agents or None,
        "built_in_tools": tools.built_in or None,
        "tool_input_guardrails": export_guardrails(guards.tool_input, exporter, "toolInputGuardrails") or None,
        "tool_output_guardrails": export_guardrails(guards.tool_output, exporter, "toolOutputGuardrails") or None,
        "autonomy": None if spec.autonomy is None else export_autonomy(spec.autonomy),
        "rules": export_rules(spec.rules),
    }


def _export_trace(agents: TraceMetadata | None, models: TraceMetadata | None) -> TraceMetadata | None:
    return agents if models is None else models if agents is None else models.with_defaults(agents)


def _export_group_names(groups: Sequence[str | ToolGroup], exporter: Exporter) -> tuple[str, ...] | None:
    names: list[str] = []
    for place, group in enumerate(groups):
        if isinstance(group, str):
            names.append(group)
        else:
            how = "name it, and register it where the agent runs"
            exporter.omit(f"the tool group {group.name!r}: {how}", "toolGroups", place)
    return tuple(names) or None


@blueprint_type("agent")
class AgentBlueprint(AgentFields):
    """Blueprint of an agent."""

    type: Literal["agent"] = "agent"
    tool_class_names: tuple[Name, ...] = ()
    handoffs: tuple[HandoffPart, ...] = ()
    input_guardrails: _Guardrails = ()
    output_guardrails: _Guardrails = ()

    def build_with(self, builder: Builder) -> Agent[object] | None:
        """Return the agent."""
        settings = self.build_settings(builder)
        output = find_type(self.output_type, builder, "outputType")

        def create() -> Agent[object]:
            return set_trace(Agent(self.name, output_type=output, **settings), self.trace_metadata)

        return builder.attempt(create)


@blueprint_exporter(Agent)
def export_agent(agent: Agent[object], exporter: Exporter) -> AgentBlueprint | None:
    """Return the blueprint of an agent."""
    return exporter.make(AgentBlueprint, export_fields(agent, exporter))


class WorkerPart(Part):
    """Worker of a supervisor."""

    description: Name
    worker: Node


@blueprint_type("supervisor")
class SupervisorBlueprint(AgentFields):
    """Blueprint of an agent with workers."""

    type: Literal["supervisor"] = "supervisor"
    workers: Annotated[tuple[WorkerPart, ...], Field(min_length=1)]

    def build_with(self, builder: Builder) -> SupervisorAgent[object] | None:
        """Return the supervisor."""
        settings = self.build_settings(builder)
        output = find_type(self.output_type, builder, "outputType")
        workers = _build_workers(self.workers, builder)

        def create() -> SupervisorAgent[object]:
            supervisor = SupervisorAgent(self.name, workers=workers, output_type=output, **settings)
            return set_trace(supervisor, self.trace_metadata)

        return builder.attempt(create)


@blueprint_exporter(SupervisorAgent)
def export_supervisor(supervisor: SupervisorAgent[object], exporter: Exporter) -> SupervisorBlueprint | None:
    """Return the blueprint of a supervisor."""
    fields = export_fields(supervisor, exporter)
    lists = "tool_class_names", "handoffs", "input_guardrails", "output_guardrails"
    fields |= {name: fields[name] or None for name in lists}
    fields["workers"] = tuple(_export_workers(supervisor, exporter))
    return exporter.make(SupervisorBlueprint, fields)


def _build_workers(parts: Sequence[WorkerPart], builder: Builder) -> dict[str, Runnable]:
    workers: dict[str, Runnable] = {}
    for place, part in enumerate(parts):
        if part.description in workers:
            builder.add_problem(f"{part.description!r} describes two workers", "workers", place, "description")
        if (worker := builder.build_node(part.worker, "workers", place, "worker")) is not None:
            workers[part.description] = worker
    return workers


def _export_workers(supervisor: SupervisorAgent[object], exporter: Exporter) -> Iterator[WorkerPart]:
    for place, (what, worker) in enumerate(supervisor.workers.items()):
        if (node := exporter.export_node(worker, "workers", place, "worker")) is not None:
            yield WorkerPart(description=what, worker=node)
