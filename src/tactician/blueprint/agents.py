"""Blueprints of agents: `agent` and `supervisor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from tactician.agents.agent import Agent
from tactician.agents.constellations import SupervisorAgent
from tactician.agents.constellations.supervisor import AgentOptions
from tactician.blueprint.abilities import (
    AgentToolPart,
    GuardrailPart,
    HandoffPart,
    TypeText,
    guardrail_parts,
    guardrails_of,
    handoff_parts,
    handoffs_of,
    tool_parts,
    tools_of,
    type_of,
)
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.contexts import autonomy_of, autonomy_part, context_part, strategy_of
from tactician.blueprint.instructions import Instructions, instructions_of, instructions_part
from tactician.blueprint.models import ModelParts, trace_part, traced
from tactician.blueprint.parts import Flag, Name, Part, Positive, Seconds, Temperature
from tactician.blueprint.settings import AutonomyPart, ContextPart, OptionsPart, ResponderPart, TracePart
from tactician.blueprint.snapshot import Snapshot
from tactician.llm import LanguageModel, LlmOptions, TraceMetadata
from tactician.loop import DEFAULT_MAX_ATTEMPTS, Handoff, TurnPolicy
from tactician.prompts import InstructionSource
from tactician.runs import Runnable
from tactician.tools import Tool, snake_case

_Guardrails: TypeAlias = tuple[GuardrailPart, ...]


class AgentFields(Blueprint):
    """What blueprints of agents and of supervisors say alike. Times are in seconds."""

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
    context_management: ContextPart | None = None
    # What agentle4j does not have.
    id: Name | None = None
    description: str | None = None
    options: OptionsPart | None = None
    tool_groups: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    tool_input_guardrails: _Guardrails | None = None
    tool_output_guardrails: _Guardrails | None = None
    autonomy: AutonomyPart | None = None
    max_attempts: Positive | None = None
    max_tool_calls: Positive | None = None
    max_tool_output_tokens: Positive | None = None
    parallel_tools: Flag | None = None
    tool_timeout: Seconds | None = None

    def options_in(self, builder: Builder) -> AgentOptions:
        """What is said beside the name, the model, the instructions, the tools and the output type."""
        said: AgentOptions = {
            "handoffs": handoffs_of(self.handoffs or (), builder),
            "id": self.id,
            "description": self.description,
            "input_guardrails": guardrails_of(self.input_guardrails, builder, "inputGuardrails"),
            "output_guardrails": guardrails_of(self.output_guardrails, builder, "outputGuardrails"),
            "tool_input_guardrails": guardrails_of(self.tool_input_guardrails, builder, "toolInputGuardrails"),
            "tool_output_guardrails": guardrails_of(self.tool_output_guardrails, builder, "toolOutputGuardrails"),
            "tool_groups": self.tool_groups or (),
            "max_turns": self.max_turns,
            "max_attempts": self.max_attempts or DEFAULT_MAX_ATTEMPTS,
            "max_tool_calls": self.max_tool_calls,
            "max_tool_output_tokens": self.max_tool_output_tokens,
            "parallel_tools": self.parallel_tools is not False,
            "tool_timeout": self.tool_timeout,
        }
        if self.context_management is not None:
            said["context"] = strategy_of(self.context_management, builder.at("contextManagement"))
        if (autonomy := self.autonomy) is not None:
            said["autonomy"] = builder.tried(lambda: autonomy_of(autonomy), "autonomy")
        return said

    def model_in(self, builder: Builder) -> str | LlmOptions | LanguageModel | None:
        """The model that it says."""
        return ModelParts(self.model, self.responder, self.temperature, self.options).built(builder)


def fields_of(
    agent: Agent[object], own: str | InstructionSource, tools: Iterable[Tool], snapshot: Snapshot
) -> dict[str, Any]:
    """What is to be said of an agent with these instructions and tools of its own."""
    model = ModelParts.of(agent.model, snapshot)
    tool_names, agent_tools = tool_parts(tools, snapshot)
    text = own if isinstance(own, str) else own.text
    context, guards = agent.context, agent.guards
    return {
        "name": agent.name,
        "model": model.model,
        "instructions": instructions_part(own, snapshot),
        "max_turns": agent.policy.max_turns,
        "temperature": model.temperature,
        "responder": model.responder,
        "tool_class_names": tool_names,
        "handoffs": handoff_parts(agent.handoffs, snapshot),
        "input_guardrails": guardrail_parts(guards.input.all, snapshot, "inputGuardrails"),
        "output_guardrails": guardrail_parts(guards.output, snapshot, "outputGuardrails"),
        "output_type": snapshot.type_name(agent.output_type, "outputType"),
        "trace_metadata": trace_part(_trace(agent.trace, model.trace)),
        "context_management": None if context is None else context_part(context, snapshot.at("contextManagement")),
        "id": agent.id if agent.id != snake_case(agent.name) else None,
        "description": agent.description if agent.description not in (text or agent.name,) else None,
        "options": model.options,
        "tool_groups": _group_names(agent, snapshot),
        "agent_tools": agent_tools or None,
        "tool_input_guardrails": guardrail_parts(guards.tool_input, snapshot, "toolInputGuardrails") or None,
        "tool_output_guardrails": guardrail_parts(guards.tool_output, snapshot, "toolOutputGuardrails") or None,
        "autonomy": None if agent.autonomy is None else autonomy_part(agent.autonomy),
        **_limits(agent.policy),
    }


def _limits(policy: TurnPolicy) -> dict[str, Any]:
    """The limits that are not the usual ones."""
    return {
        "max_attempts": policy.max_attempts if policy.max_attempts != DEFAULT_MAX_ATTEMPTS else None,
        "max_tool_calls": policy.max_tool_calls,
        "max_tool_output_tokens": policy.max_tool_output_tokens,
        "parallel_tools": None if policy.parallel_tools else False,
        "tool_timeout": policy.tool_timeout,
    }


def _trace(agents: TraceMetadata | None, models: TraceMetadata | None) -> TraceMetadata | None:
    return agents if models is None else models if agents is None else models.over(agents)


def _group_names(agent: Agent[object], snapshot: Snapshot) -> tuple[str, ...] | None:
    names: list[str] = []
    for place, group in enumerate(agent.tool_groups):
        if isinstance(group, str):
            names.append(group)
        else:
            how = "name it, and register it where the agent runs"
            snapshot.left_out(f"the tool group {group.name!r}: {how}", "toolGroups", place)
    return tuple(names) or None


@blueprint_type("agent", Agent)
class AgentBlueprint(AgentFields):
    """An agent."""

    type: Literal["agent"] = "agent"
    tool_class_names: tuple[Name, ...] = ()
    handoffs: tuple[HandoffPart, ...] = ()
    input_guardrails: _Guardrails = ()
    output_guardrails: _Guardrails = ()

    def assembled(self, builder: Builder) -> Agent[object] | None:
        """The agent."""
        model, options = self.model_in(builder), self.options_in(builder)
        instructions = instructions_of(self.instructions, builder)
        tools = tools_of(self.tool_class_names, self.agent_tools or (), builder)
        output = type_of(self.output_type, builder, "outputType")

        def made() -> Agent[object]:
            agent: Agent[object] = Agent(
                self.name, model=model, instructions=instructions or "", tools=tools, output_type=output, **options
            )
            return traced(agent, self.trace_metadata)

        return builder.tried(made)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> AgentBlueprint | None:
        """The blueprint of an agent."""
        assert isinstance(runnable, Agent)
        own = [tool for tool in runnable.tools if not isinstance(tool, Handoff)]
        source = runnable.instruction_source or runnable.instructions
        return snapshot.made(cls, fields_of(runnable, source, own, snapshot))


class WorkerPart(Part):
    """Who works for a supervisor, and at what."""

    description: Name
    worker: Node


@blueprint_type("supervisor", SupervisorAgent)
class SupervisorBlueprint(AgentFields):
    """An agent with workers."""

    type: Literal["supervisor"] = "supervisor"
    workers: Annotated[tuple[WorkerPart, ...], Field(min_length=1)]

    def assembled(self, builder: Builder) -> SupervisorAgent[object] | None:
        """The supervisor."""
        model, options = self.model_in(builder), self.options_in(builder)
        instructions = instructions_of(self.instructions, builder)
        tools = tools_of(self.tool_class_names or (), self.agent_tools or (), builder)
        output = type_of(self.output_type, builder, "outputType")
        workers = _workers_in(self.workers, builder)

        def made() -> SupervisorAgent[object]:
            supervisor: SupervisorAgent[object] = SupervisorAgent(
                self.name,
                workers=workers,
                model=model,
                instructions=instructions or "",
                tools=tools,
                output_type=output,
                **options,
            )
            return traced(supervisor, self.trace_metadata)

        return builder.tried(made)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> SupervisorBlueprint | None:
        """The blueprint of a supervisor."""
        assert isinstance(runnable, SupervisorAgent)
        own = [tool for tool in runnable.tools if not isinstance(tool, Handoff) and tool not in runnable.invocations]
        source = runnable.instruction_source or runnable.instructions
        said = fields_of(runnable, source, own, snapshot)
        lists = "tool_class_names", "handoffs", "input_guardrails", "output_guardrails"
        said |= {name: said[name] or None for name in lists}
        said["workers"] = tuple(_worker_parts(runnable, snapshot))
        return snapshot.made(cls, said)


def _workers_in(parts: Sequence[WorkerPart], builder: Builder) -> dict[str, Runnable]:
    workers: dict[str, Runnable] = {}
    for place, part in enumerate(parts):
        if part.description in workers:
            builder.problem(f"{part.description!r} is said of two workers", "workers", place, "description")
        if (worker := builder.node(part.worker, "workers", place, "worker")) is not None:
            workers[part.description] = worker
    return workers


def _worker_parts(supervisor: SupervisorAgent[object], snapshot: Snapshot) -> Iterator[WorkerPart]:
    for place, (what, worker) in enumerate(supervisor.workers.items()):
        if (found := snapshot.node(worker, "workers", place, "worker")) is not None:
            yield WorkerPart(description=what, worker=found)
