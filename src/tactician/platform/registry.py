"""Registry of the agents of a platform, by name, and of the agents that can be composed of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from tactician.agents import PlannedAgent, Planner
from tactician.agents.planned.components import build_component_agent, is_component
from tactician.agents.planned.specs import (
    as_runnable,
    build_process_spec,
    find_planned_specs,
    find_process_spec,
    planned_spec,
)
from tactician.errors import AgentNotFoundError, DeclarationError
from tactician.grammar import add_article
from tactician.platform.composed_agents import (
    assemble,
    assemble_everything,
    assemble_towards,
    is_assembled,
    list_assembled,
)
from tactician.platform.supervised_agents import is_supervised_agent, list_supervised_agents, rebuild_supervised_agent
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.runs import Runnable
from tactician.runs.progress.record import RunRecord
from tactician.runs.reporting import agent_id
from tactician.suggestions import did_you_mean
from tactician.text import snake_case

GOALS: Final = "goals"
"""Name of the tool group of all exported goals."""
REQUESTS: Final = "service"
"""Name of runs that answer requests to models, which no registered agent stands for."""


class Registry:
    """The agents of a platform.

    Args:
        internal: functions that return Runnables of the platform itself, whose runs can be continued, and which nobody
            else sees, by their names.
    """

    def __init__(self, internal: Mapping[str, Callable[[], Runnable]]) -> None:
        self._internal = dict(internal)
        self._agents: dict[str, Runnable] = {}
        self._ids: dict[str, Runnable] = {}
        self._met: dict[str, Runnable] = {}
        self._assembled: dict[type, list[PlannedAgentSpec]] = {}
        self._run_names: tuple[str, ...] | None = None
        self._watchers: tuple[Callable[[], object], ...] = ()

    def watch(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call a listener whenever other agents are registered, and return the function that removes it."""
        self._watchers = (*self._watchers, listener)

        def remove() -> None:
            self._watchers = tuple(other for other in self._watchers if other is not listener)

        return remove

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """Registered agents by name; several of the same name by id."""
        return self._agents

    @property
    def by_id(self) -> Mapping[str, Runnable]:
        """Registered agents by id."""
        return self._ids

    def register(self, agents: Sequence[object], *, replace: bool = False) -> None:
        """Register all, or none.

        Args:
            agents: Runnables, and instances of declared classes.
            replace: True when an agent takes the place of the agent with its id.

        Raises:
            DeclarationError: when an agent is not declared correctly, or an id is taken; with every mistake of all of
                them.
        """
        fresh: list[Runnable] = []
        errors: list[DeclarationError] = []
        for agent in agents:
            try:
                registered = _as_runnable(agent)
                _check_free(registered, (*fresh, *(() if replace else self._agents.values())), self._internal)
                fresh.append(registered)
            except DeclarationError as error:
                errors.append(error)
        if errors:
            raise _as_one(errors)
        self._replace((self._ids | {agent_id(agent): agent for agent in fresh}).values())

    def register_internal(self, agent: Runnable) -> None:
        """Let runs of a Runnable be continued that nobody else sees; it takes the place of another with its name."""
        self._internal[agent.name] = lambda: agent
        self._run_names = None

    def unregister(self, name: str) -> None:
        """Forget an agent by its name or id.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        removed = self.find(name)
        if removed is None:
            raise self.not_found(name)
        self._replace([agent for agent in self._ids.values() if agent is not removed])

    def _replace(self, agents: Collection[Runnable]) -> None:
        """Register other agents. Several of the same name are known by their ids only."""
        names = Counter(agent.name for agent in agents)
        self._agents = {agent.name if names[agent.name] == 1 else agent_id(agent): agent for agent in agents}
        self._ids = {agent_id(agent): agent for agent in agents}
        self._assembled = {}
        self._run_names = None
        for watcher in self._watchers:
            watcher()

    def get_agent(self, name: str) -> Runnable:
        """Return the agent of a name or id: registered, met before, assembled of those that are, or internal.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        agent = self.find(name) or self._find_internal(name) or assemble(name, self._agents) or self._met.get(name)
        if agent is None:
            raise self.not_found(name)
        return agent

    def _find_internal(self, name: str) -> Runnable | None:
        find = self._internal.get(name)
        return None if find is None else find()

    def find(self, name: str) -> Runnable | None:
        """Return what is registered by a name or id; `None` when there is nothing."""
        return self._agents.get(name) or self._ids.get(name)

    def not_found(self, name: str) -> AgentNotFoundError:
        """Return the error for a name that nothing has."""
        hint = did_you_mean(name, (*self._agents, *self._ids))
        agent_names = ", ".join(self._agents) or "none"
        return AgentNotFoundError(f"No agent is registered as {name!r}.{hint} Registered: {agent_names}.")

    def runnable(self, agent: object) -> Runnable:
        """Return a Runnable by its name, or the Runnable itself.

        Raises:
            AgentNotFoundError: when none has the name.
            DeclarationError: when it is not declared correctly.
        """
        return _as_runnable(self.get_agent(agent) if isinstance(agent, str) else agent)

    def get_spec(self, agent: object) -> PlannedAgentSpec:
        """Return the spec for processes of a Runnable, also by its name.

        Raises:
            AgentNotFoundError: when none has the name.
            DeclarationError: when it is not declared correctly.
        """
        return build_process_spec(self.runnable(agent))

    def admit(self, agent: object) -> Runnable:
        """Return a Runnable that is about to run, and remember it, so that its runs can be continued."""
        runnable = self.runnable(agent)
        name = runnable.name
        if name not in self._agents and not (is_supervised_agent(name) or is_assembled(name)):
            self._run_names = self._run_names if name in self._met else None
            self._met[name] = runnable
        return runnable

    def admit_spec(self, agent: object) -> PlannedAgentSpec:
        """Return the spec for processes of a Runnable that is about to run; see `admit`."""
        return build_process_spec(self.admit(agent))

    def of_record(self, record: RunRecord) -> PlannedAgentSpec:
        """Return the agent of a stored process.

        Raises:
            AgentNotFoundError: when it, or a part of it, is not registered here.
            StoredStateError: when the stored process cannot be read.
        """
        if record.name not in self._agents and is_supervised_agent(record.name):
            return rebuild_supervised_agent(record, self._agents)
        return self.get_spec(record.name)

    def find_producers(self, output_type: type) -> list[PlannedAgentSpec]:
        """Return the registered agents with the goals that give an object of the type.

        Planned ones come first, as others do not declare what they need.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        specs = self._specs()
        if producers := [aimed for spec in specs if (aimed := spec.towards(output_type)) is not None]:
            return producers
        kinds = {kind.__name__ for spec in specs for goal in spec.goals for kind in goal.output_types}
        kind_names = ", ".join(sorted(kinds)) or "nothing"
        raise AgentNotFoundError(
            f"No registered agent yields {add_article(output_type.__name__)}. The registered goals yield: {kind_names}."
        )

    def assemble_towards(self, output_type: type) -> list[PlannedAgentSpec]:
        """Assemble an agent for each goal that gives an object of the type, of the actions of all agents.

        The result is `None` if a single agent has all the helpful actions, or the actions do not go together.
        """
        if (specs := self._assembled.get(output_type)) is None:
            is_alone = sum(isinstance(agent, PlannedAgent) for agent in self._agents.values()) < 2
            specs = self._assembled[output_type] = [] if is_alone else assemble_towards(output_type, self._agents)
        return specs

    def assemble_everything(self, planner: Planner) -> PlannedAgent:
        """Assemble an agent of all actions.

        Raises:
            DeclarationError: when there are no actions, or they do not go together.
        """
        return assemble_everything(self._agents, planner)

    @property
    def run_names(self) -> tuple[str, ...]:
        """The names of all runs that can be continued here: of what is registered, and what can be made of it."""
        if self._run_names is None:
            named = dict.fromkeys((*self._met, *self._agents, *(spec.name for spec in self._specs())))
            supervised = list_supervised_agents(find_planned_specs(self._agents.values()))
            self._run_names = (*named, *list_assembled(self._agents), *supervised, *self._internal)
        return self._run_names

    def _specs(self) -> list[PlannedAgentSpec]:
        """Return the specs of the planned agents, and then of the other agents that declare their output."""
        asked = [(agent, planned_spec(agent)) for agent in self._agents.values()]
        others = (find_process_spec(agent) for agent, spec in asked if spec is None)
        return [*(spec for _, spec in asked if spec is not None), *filter(None, others)]


def _as_runnable(agent: object) -> Runnable:
    if isinstance(agent, type):
        raise DeclarationError(agent.__name__, [f"this is the class; make an instance: {agent.__name__}(...)"])
    if is_component(agent):
        return build_component_agent(agent)
    if (runnable := as_runnable(agent)) is not None:
        return runnable
    remedy = "decorate the class with @planned_agent(description=...)"
    if isinstance(agent, PlannedAgentSpec):
        remedy = "make an agent of the spec: PlannedAgent.of(spec)"
    raise DeclarationError(type(agent).__name__, [f"it is not a Runnable; {remedy}"])


def _as_one(errors: list[DeclarationError]) -> DeclarationError:
    if len(errors) == 1:
        return errors[0]
    problems = [f"{error.subject}: {problem}" for error in errors for problem in error.problems]
    return DeclarationError(", ".join(error.subject for error in errors), problems)


def _check_free(agent: Runnable, others: Iterable[Runnable], reserved: Iterable[str]) -> None:
    taken = [*((agent_id(other), other.name) for other in others), *((snake_case(name), name) for name in reserved)]
    for other_id, name in taken:
        if other_id == agent_id(agent):
            shared = "this name" if name == agent.name else f"the id {other_id!r}"
            raise DeclarationError(agent.name, [f"another agent has {shared}; rename either"])
