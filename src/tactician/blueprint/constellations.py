"""Blueprints of constellations: `router`, `network` and `parallel`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tactician.agents import (
    AgentNetwork,
    Broadcast,
    FirstOf,
    ParallelAgents,
    RouterAgent,
    Synthesis,
)
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.models import ModelParts, trace_part, traced
from tactician.blueprint.parts import Flag, Name, Part, Positive, Temperature
from tactician.blueprint.pending import LATER_IN_TEXT
from tactician.blueprint.settings import OptionsPart, ResponderPart, TracePart
from tactician.blueprint.snapshot import Snapshot
from tactician.runs import Runnable


class RoutePart(Part):
    """To whom a router may send its input, and when."""

    description: Name
    target: Node


@blueprint_type("router", RouterAgent)
class RouterBlueprint(Blueprint):
    """Sends its input to the one who can deal with it."""

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

    def assembled(self, builder: Builder) -> RouterAgent | None:
        """The router."""
        model = ModelParts(self.model, self.responder, self.temperature, self.options).built(builder)
        routes: dict[str, Runnable] = {}
        for place, route in enumerate(self.routes):
            if route.description in routes:
                builder.problem(f"{route.description!r} is said of two routes", "routes", place, "description")
            if (target := builder.node(route.target, "routes", place, "target")) is not None:
                routes[route.description] = target
        fallback = None if self.fallback is None else builder.node(self.fallback, "fallback")

        def made() -> RouterAgent:
            router = RouterAgent(
                self.name,
                model=model,
                routes=routes,
                fallback=fallback,
                description=self.description,
                instructions=self.instructions or "",
            )
            return traced(router, self.trace_metadata)

        return builder.tried(made)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> RouterBlueprint | None:
        """The blueprint of a router."""
        assert isinstance(runnable, RouterAgent)
        model = ModelParts.of(runnable.classifier.model, snapshot)
        fallback = runnable.fallback
        usual = "; ".join(runnable.routes)
        said = {
            "name": runnable.name,
            "model": model.model,
            "responder": model.responder,
            "routes": tuple(_route_parts(runnable, snapshot)),
            "fallback": None if fallback is None else snapshot.node(fallback, "fallback"),
            "trace_metadata": trace_part(runnable.trace),
            "description": runnable.description if runnable.description != usual else None,
            "instructions": runnable.classifier.instructions or None,
            "temperature": model.temperature,
            "options": model.options,
        }
        return snapshot.made(cls, said)


@blueprint_type("network", AgentNetwork, Broadcast)
class NetworkBlueprint(Blueprint):
    """Peers that discuss something."""

    type: Literal["network"] = "network"
    name: Name
    peers: Annotated[tuple[Node, ...], Field(min_length=2)]
    max_rounds: Positive
    synthesizer: Node | None = None
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    description: str | None = None
    concurrent: Flag | None = None
    mode: Annotated[Literal["discuss", "broadcast"], LATER_IN_TEXT] | None = None

    def assembled(self, builder: Builder) -> AgentNetwork | Broadcast | None:
        """The network."""
        peers = builder.nodes_of(self.peers, "peers")
        synthesizer = None if self.synthesizer is None else builder.node(self.synthesizer, "synthesizer")

        def made() -> AgentNetwork | Broadcast:
            network = AgentNetwork(
                self.name,
                peers,
                synthesizer=synthesizer,
                max_rounds=self.max_rounds,
                concurrent=self.concurrent is True,
                description=self.description,
            )
            return traced(network.everyone() if self.mode == "broadcast" else network, self.trace_metadata)

        return builder.tried(made)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> NetworkBlueprint | None:
        """The blueprint of a network."""
        assert isinstance(runnable, AgentNetwork | Broadcast)
        network = runnable if isinstance(runnable, AgentNetwork) else runnable.network
        usual = f"a discussion between {', '.join(peer.name for peer in network.peers)}"
        said = {
            "name": network.name,
            "peers": snapshot.nodes_of(network.peers, "peers"),
            "max_rounds": network.max_rounds,
            "synthesizer": None if network.synthesizer is None else snapshot.node(network.synthesizer, "synthesizer"),
            "trace_metadata": trace_part(runnable.trace),
            "description": network.description if network.description != usual else None,
            "concurrent": network.concurrent or None,
            "mode": "broadcast" if isinstance(runnable, Broadcast) else None,
        }
        return snapshot.made(cls, said)


@blueprint_type("parallel", ParallelAgents, FirstOf, Synthesis)
class ParallelBlueprint(Blueprint):
    """Several that work on the same input at once."""

    type: Literal["parallel"] = "parallel"
    name: Name
    members: Annotated[tuple[Node, ...], Field(min_length=1)]
    trace_metadata: TracePart | None = None
    # What agentle4j does not have.
    description: str | None = None
    mode: Annotated[Literal["all", "first"], LATER_IN_TEXT] | None = None
    synthesizer: Node | None = None

    def assembled(self, builder: Builder) -> ParallelAgents | FirstOf | Synthesis | None:
        """The group."""
        members = builder.nodes_of(self.members, "members")
        synthesizer = None if self.synthesizer is None else builder.node(self.synthesizer, "synthesizer")
        if self.mode == "first" and synthesizer is not None:
            builder.problem("the first answer is the answer: leave out the synthesizer, or the mode", "synthesizer")

        def made() -> ParallelAgents | FirstOf | Synthesis:
            group = ParallelAgents(self.name, members, description=self.description)
            if synthesizer is not None:
                return traced(group.synthesized_by(synthesizer), self.trace_metadata)
            return traced(group.first() if self.mode == "first" else group, self.trace_metadata)

        return builder.tried(made)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> ParallelBlueprint | None:
        """The blueprint of a group."""
        assert isinstance(runnable, ParallelAgents | FirstOf | Synthesis)
        group = runnable if isinstance(runnable, ParallelAgents) else runnable.group
        synthesizer = runnable.synthesizer if isinstance(runnable, Synthesis) else None
        usual = f"{', '.join(member.name for member in group.members)}, all at once"
        said = {
            "name": group.name,
            "members": snapshot.nodes_of(group.members, "members"),
            "trace_metadata": trace_part(runnable.trace),
            "description": group.description if group.description != usual else None,
            "mode": "first" if isinstance(runnable, FirstOf) else None,
            "synthesizer": None if synthesizer is None else snapshot.node(synthesizer, "synthesizer"),
        }
        return snapshot.made(cls, said)


def _route_parts(router: RouterAgent, snapshot: Snapshot) -> Iterator[RoutePart]:
    for place, (what, target) in enumerate(router.routes.items()):
        if (found := snapshot.node(target, "routes", place, "target")) is not None:
            yield RoutePart(description=what, target=found)
