"""Blueprints of constellations: `router`, `network`, `parallel` and `hierarchical`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tactician.agents import (
    Agent,
    AgentNetwork,
    BaseRunnable,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
)
from tactician.agents.constellations.network import Broadcast
from tactician.agents.constellations.parallel import FirstOf, Synthesis
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.models import ModelParts, OptionsPart, ResponderPart, TracePart, export_trace, set_trace
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Flag, Name, Part, Positive, Temperature
from tactician.llm import TraceMetadata
from tactician.runs import Runnable


class RoutePart(Part):
    """Route of a router: a target and its description."""

    description: Name
    target: Node


@blueprint_type("router")
class RouterBlueprint(Blueprint):
    """Blueprint of a router."""

    type: Literal["router"] = "router"
    name: Name
    model: Name
    responder: ResponderPart | None = None
    routes: Annotated[tuple[RoutePart, ...], Field(min_length=1)]
    fallback: Node | None = None
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    description: str | None = None
    instructions: str | None = None
    temperature: Temperature | None = None
    options: OptionsPart | None = None

    def build_with(self, builder: Builder) -> RouterAgent | None:
        """Return the router."""
        model = ModelParts(self.model, self.responder, self.temperature, self.options).build(builder)
        routes: dict[str, Runnable] = {}
        for place, route in enumerate(self.routes):
            if route.description in routes:
                builder.add_problem(f"{route.description!r} describes two routes", "routes", place, "description")
            if (target := builder.build_node(route.target, "routes", place, "target")) is not None:
                routes[route.description] = target
        fallback = None if self.fallback is None else builder.build_node(self.fallback, "fallback")

        def create() -> RouterAgent:
            router = RouterAgent(
                self.name,
                model=model,
                routes=routes,
                fallback=fallback,
                description=self.description,
                instructions=self.instructions or "",
            )
            return set_trace(router, self.trace_metadata)

        return builder.attempt(create)


@blueprint_exporter(RouterAgent)
def export_router(router: RouterAgent, exporter: Exporter) -> RouterBlueprint | None:
    """Return the blueprint of a router."""
    model = ModelParts.from_model(router.classifier.model, exporter)
    fields = {
        "name": router.name,
        "model": model.model,
        "responder": model.responder,
        "routes": tuple(_export_routes(router, exporter)),
        "fallback": None if router.fallback is None else exporter.export_node(router.fallback, "fallback"),
        "trace_metadata": export_trace(router.trace),
        "description": router.description if router.description != "; ".join(router.routes) else None,
        "instructions": router.classifier.instructions or None,
        "temperature": model.temperature,
        "options": model.options,
    }
    return exporter.make(RouterBlueprint, fields)


def _export_routes(router: RouterAgent, exporter: Exporter) -> Iterator[RoutePart]:
    for place, (what, target) in enumerate(router.routes.items()):
        if (node := exporter.export_node(target, "routes", place, "target")) is not None:
            yield RoutePart(description=what, target=node)


@blueprint_type("network")
class NetworkBlueprint(Blueprint):
    """Blueprint of a discussion between peers."""

    type: Literal["network"] = "network"
    name: Name
    peers: Annotated[tuple[Node, ...], Field(min_length=2)]
    max_rounds: Positive
    synthesizer: Node | None = None
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    description: str | None = None
    concurrent: Flag | None = None
    mode: Annotated[Literal["discuss", "broadcast"], DEFERRED_IN_TEXT] | None = None

    def build_with(self, builder: Builder) -> AgentNetwork | Broadcast | None:
        """Return the network."""
        peers = builder.build_nodes(self.peers, "peers")
        synthesizer = None if self.synthesizer is None else builder.build_node(self.synthesizer, "synthesizer")

        def create() -> AgentNetwork | Broadcast:
            network = AgentNetwork(
                self.name,
                peers,
                synthesizer=synthesizer,
                max_rounds=self.max_rounds,
                concurrent=self.concurrent is True,
                description=self.description,
            )
            return set_trace(network.as_broadcast() if self.mode == "broadcast" else network, self.trace_metadata)

        return builder.attempt(create)


@blueprint_exporter(AgentNetwork)
def export_network(network: AgentNetwork, exporter: Exporter) -> NetworkBlueprint | None:
    """Return the blueprint of a network."""
    return _export_network_fields(network, network.trace, exporter)


@blueprint_exporter(Broadcast)
def export_broadcast(broadcast: Broadcast, exporter: Exporter) -> NetworkBlueprint | None:
    """Return the blueprint of a network whose peers are asked once."""
    return _export_network_fields(broadcast.network, broadcast.trace, exporter, mode="broadcast")


def _export_network_fields(
    network: AgentNetwork, trace: TraceMetadata | None, exporter: Exporter, *, mode: str | None = None
) -> NetworkBlueprint | None:
    synthesizer = network.synthesizer
    default = f"a discussion between {', '.join(peer.name for peer in network.peers)}"
    fields = {
        "name": network.name,
        "peers": exporter.export_nodes(network.peers, "peers"),
        "max_rounds": network.max_rounds,
        "synthesizer": None if synthesizer is None else exporter.export_node(synthesizer, "synthesizer"),
        "trace_metadata": export_trace(trace),
        "description": network.description if network.description != default else None,
        "concurrent": network.concurrent or None,
        "mode": mode,
    }
    return exporter.make(NetworkBlueprint, fields)


@blueprint_type("parallel")
class ParallelBlueprint(Blueprint):
    """Blueprint of members that work on the same input at once."""

    type: Literal["parallel"] = "parallel"
    name: Name
    members: Annotated[tuple[Node, ...], Field(min_length=1)]
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    description: str | None = None
    mode: Annotated[Literal["all", "first"], DEFERRED_IN_TEXT] | None = None
    synthesizer: Node | None = None

    def build_with(self, builder: Builder) -> ParallelAgents | FirstOf | Synthesis | None:
        """Return the group."""
        members = builder.build_nodes(self.members, "members")
        synthesizer = None if self.synthesizer is None else builder.build_node(self.synthesizer, "synthesizer")
        if self.mode == "first" and synthesizer is not None:
            builder.add_problem("the first answer is the answer: leave out the synthesizer, or the mode", "synthesizer")

        def create() -> ParallelAgents | FirstOf | Synthesis:
            group = ParallelAgents(self.name, members, description=self.description)
            if synthesizer is not None:
                return set_trace(group.as_synthesis(synthesizer), self.trace_metadata)
            return set_trace(group.as_first_of() if self.mode == "first" else group, self.trace_metadata)

        return builder.attempt(create)


@blueprint_exporter(ParallelAgents)
def export_group(group: ParallelAgents, exporter: Exporter) -> ParallelBlueprint | None:
    """Return the blueprint of a group."""
    return _export_group_fields(group, group.trace, exporter)


@blueprint_exporter(FirstOf)
def export_first(first: FirstOf, exporter: Exporter) -> ParallelBlueprint | None:
    """Return the blueprint of a group in which the first member to succeed answers."""
    return _export_group_fields(first.group, first.trace, exporter, mode="first")


@blueprint_exporter(Synthesis)
def export_synthesis(synthesis: Synthesis, exporter: Exporter) -> ParallelBlueprint | None:
    """Return the blueprint of a group with a synthesizer."""
    return _export_group_fields(synthesis.group, synthesis.trace, exporter, synthesizer=synthesis.synthesizer)


def _export_group_fields(
    group: ParallelAgents,
    trace: TraceMetadata | None,
    exporter: Exporter,
    *,
    mode: str | None = None,
    synthesizer: Runnable | None = None,
) -> ParallelBlueprint | None:
    default = f"{', '.join(member.name for member in group.members)}, all at once"
    fields = {
        "name": group.name,
        "members": exporter.export_nodes(group.members, "members"),
        "trace_metadata": export_trace(trace),
        "description": group.description if group.description != default else None,
        "mode": mode,
        "synthesizer": None if synthesizer is None else exporter.export_node(synthesizer, "synthesizer"),
    }
    return exporter.make(ParallelBlueprint, fields)


class DepartmentPart(Part):
    """Manager with workers."""

    manager: Node
    workers: Annotated[tuple[Node, ...], Field(min_length=1)]


@blueprint_type("hierarchical")
class HierarchicalBlueprint(Blueprint):
    """Blueprint of an executive with departments."""

    type: Literal["hierarchical"] = "hierarchical"
    executive: Node
    departments: Annotated[dict[str, DepartmentPart], Field(min_length=1)]
    max_turns: Positive
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    name: Name | None = None
    description: str | None = None

    def build_with(self, builder: Builder) -> HierarchicalAgents[object] | None:
        """Return the hierarchy."""
        executive = _require_agent(builder.build_node(self.executive, "executive"), builder, "executive")
        departments: dict[str, Department] = {}
        for label, part in self.departments.items():
            part_builder = builder.at("departments", label)
            manager = _require_agent(part_builder.build_node(part.manager, "manager"), part_builder, "manager")
            workers = part_builder.build_nodes(part.workers, "workers")
            if manager is not None:
                departments[label] = Department(manager, workers)

        def create() -> HierarchicalAgents[object]:
            assert executive is not None
            hierarchy: HierarchicalAgents[object] = HierarchicalAgents(
                executive=executive,
                departments=departments,
                max_turns=self.max_turns,
                name=self.name,
                description=self.description,
            )
            return set_trace(hierarchy, self.trace_metadata)

        return builder.attempt(create)

    @property
    def label(self) -> str:
        """Name in messages."""
        return self.name or f"{self.executive.label}_Hierarchy"


@blueprint_exporter(HierarchicalAgents)
def export_hierarchy(hierarchy: HierarchicalAgents[object], exporter: Exporter) -> HierarchicalBlueprint | None:
    """Return the blueprint of a hierarchy."""
    executive = hierarchy.executive
    departments = {
        label: part
        for label, department in hierarchy.departments.items()
        if (part := _export_department(department, exporter.at("departments", label))) is not None
    }
    fields = {
        "executive": exporter.export_node(executive, "executive"),
        "departments": departments,
        "max_turns": hierarchy.max_turns,
        "trace_metadata": export_trace(hierarchy.trace),
        "name": hierarchy.name if hierarchy.name != f"{executive.name}_Hierarchy" else None,
        "description": hierarchy.description if hierarchy.description != executive.description else None,
    }
    return exporter.make(HierarchicalBlueprint, fields)


def _require_agent(runnable: BaseRunnable[object] | None, builder: Builder, step: str) -> Agent[object] | None:
    """Return the Runnable if it is an agent, since only agents can delegate."""
    if runnable is None or isinstance(runnable, Agent):
        return runnable
    builder.add_problem("it must be an agent", step)
    return None


def _export_department(department: Department, exporter: Exporter) -> DepartmentPart | None:
    manager = exporter.export_node(department.manager, "manager")
    workers = exporter.export_nodes(department.workers, "workers")
    return exporter.make(DepartmentPart, {"manager": manager, "workers": workers})
