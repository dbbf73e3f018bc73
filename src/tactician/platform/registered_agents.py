"""Registered agents of a platform: they are added, found by name and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from tactician.agents import PlannedAgent, Planner
from tactician.agents.planned.components import ComponentAgent
from tactician.llm.model_sources import ModelSource
from tactician.platform.registry import Registry
from tactician.runs import Runnable, Services
from tactician.tools import ToolGroup
from tactician.tools.group_registry import ToolGroups


class RegisteredAgents:
    """Agents and tool groups of a platform, by name.

    Attributes:
        services: services of the platform.
    """

    services: Services
    _registry: Registry

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """Registered agents by name; several of the same name by id."""
        return self._registry.agents

    @property
    def agents_by_id(self) -> Mapping[str, Runnable]:
        """Registered agents by id: their own, else the name in snake case."""
        return self._registry.by_id

    @property
    def candidates(self) -> Mapping[str, Runnable]:
        """Registered agents among which a request can be decided, by name.

        Components are left out, as their actions serve all agents, unless nothing else is registered.
        """
        agents = {name: agent for name, agent in self.agents.items() if not isinstance(agent, ComponentAgent)}
        return agents or self.agents

    def find_agent(self, name: str) -> Runnable:
        """Return what is registered by an id or a name, or an agent that stands for the model of this name.

        Raises:
            AgentNotFoundError: when there is neither.
            ConfigurationError: when the key for the model is not set.
        """
        agent = self._registry.find(name) or _find_model_agent(name, self.services.models)
        if agent is None:
            raise self._registry.not_found(name)
        return agent

    def as_runnable(self, agent: object) -> Runnable:
        """Return an agent as a Runnable: an instance of a `@planned_agent` or `@component` class, or any Runnable.

        Raises:
            DeclarationError: when it is not declared correctly, or is none of these.
        """
        return self._registry.runnable(agent)

    @property
    def run_names(self) -> tuple[str, ...]:
        """The names of all runs that can be continued here: of what is registered, and what can be made of it."""
        return self._registry.run_names

    @property
    def tool_groups(self) -> ToolGroups:
        """The tool groups by name: registered groups, groups of `tactician.toml`, and the group `goals`."""
        return self.services.find(ToolGroups)

    def register(self, *agents: object, replace: bool = False) -> Self:
        """Register Runnables, instances of `@planned_agent` and `@component` classes, and tool groups.

        Args:
            *agents: what to register. Each has an id: its own, else its name in snake case.
            replace: True when an agent takes the place of the agent with its id. That agent finishes what it has begun.

        Returns:
            The platform.

        Raises:
            DeclarationError: when an agent is not declared correctly, is none of these, or an id is taken; with every
                mistake of all of them. Then none is registered.
        """
        groups = [agent for agent in agents if isinstance(agent, ToolGroup)]
        self.tool_groups.check(groups)
        self._registry.register([agent for agent in agents if not isinstance(agent, ToolGroup)], replace=replace)
        self.tool_groups.add(groups)
        return self

    def register_internal(self, agent: Runnable) -> None:
        """Register a Runnable of a server, whose runs can be continued here, but which is not among the agents.

        It takes the place of another with its name.
        """
        self._registry.register_internal(agent)

    def unregister(self, name: str) -> None:
        """Forget an agent by its name or id. It finishes what it has begun.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        self._registry.unregister(name)

    def watch_agents(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a listener whenever agents are registered or forgotten, and return the function that removes it."""
        return self._registry.watch(listener)

    def as_agent(self, planner: Planner = Planner.UTILITY) -> PlannedAgent:
        """Return an agent with the actions of all registered planned agents and components.

        By default it does whatever is worth most, step by step, as in
        `await platform.start(platform.as_agent(), issue)`.

        Args:
            planner: how it plans.

        Raises:
            DeclarationError: when nothing is registered that has actions, or they do not go together.
        """
        return self._registry.assemble_everything(planner)


def _find_model_agent(name: str, models: ModelSource) -> Runnable | None:
    from tactician.platform.conversations.targets import find_model_agent

    return find_model_agent(name, models)
