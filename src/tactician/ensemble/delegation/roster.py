"""Roster of an ensemble: the agents to which others may delegate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from tactician.agents import Agent
from tactician.agents.planned.specs import as_runnable
from tactician.ensemble.delegation.execution import Delegator
from tactician.ensemble.delegation.tool import DelegationTool
from tactician.ensemble.tasks.default_agent import create_default_agent
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.values.delegation import Delegation
from tactician.frozen import frozen
from tactician.runs import Runnable


@frozen
class Roster:
    """Agents of an ensemble with their purposes.

    Attributes:
        purposes: the roles and the purposes of the agents.
        settings: the settings of delegations.
    """

    purposes: tuple[tuple[str, str], ...] = ()
    settings: Delegation = field(default_factory=Delegation)

    @classmethod
    def create(cls, agents: Iterable[object], settings: Delegation | None) -> Roster:
        """Return the roster of these agents."""
        runnables = [runnable for agent in agents if (runnable := as_runnable(agent)) is not None]
        return cls(
            tuple((get_role(runnable), runnable.description) for runnable in runnables), settings or Delegation()
        )

    def create_tools(self, agent: Agent[object]) -> Iterator[DelegationTool]:
        """Yield the tool for an agent that may delegate, if there is anybody else."""
        role = get_role(agent)
        others = "\n".join(f"- {other}: {purpose}" for other, purpose in self.purposes if other != role)
        if agent.spec.allow_delegation and others:
            yield DelegationTool(Delegator(role), self.settings, others)


NO_ROSTER: Final = Roster()


@frozen
class TeamAgent:
    """Agent of an ensemble, with the tasks that are meant for it."""

    agent: object
    tasks: tuple[Task, ...] = ()


def find_agents(tasks: Sequence[Task], agents: Sequence[object] | None) -> tuple[TeamAgent, ...]:
    """Return the agents of an ensemble; without any, the agents of its tasks and the agents made for tasks, each once.

    Tasks whose agents would be made alike have the same agent.
    """
    if agents is not None:
        return tuple(TeamAgent(agent, tuple(task for task in tasks if task.agent is agent)) for agent in agents)
    agents_by_key: dict[object, TeamAgent] = {}
    for task in (task for task in tasks if task.handler is None):
        key: object = id(task.agent)
        if (agent := task.agent) is None:
            agent = made = create_default_agent(task)
            key = made.name, task.goal, task.background
        entry = agents_by_key.get(key) or TeamAgent(agent)
        agents_by_key[key] = replace(entry, tasks=(*entry.tasks, task))
    return tuple(agents_by_key.values())


def get_role(runnable: Runnable) -> str:
    """Return the role of an agent; of any other Runnable, its name."""
    return (runnable.spec.role if isinstance(runnable, Agent) else None) or runnable.name
