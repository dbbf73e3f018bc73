"""Directory of the agents of an ensemble, which its tasks name."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.agents import BaseRunnable
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.task_parts import TaskItemPart, TaskPart
from tactician.blueprint.schema_base import Part
from tactician.suggestions import did_you_mean


class AgentDirectory:
    """Directory of the agents of an ensemble: from its list, and agents that are written with a task.

    Args:
        agents: the agents of the list.
    """

    def __init__(self, agents: Sequence[BaseRunnable[object]]) -> None:
        self._named: dict[str, list[BaseRunnable[object]]] = {}
        self._written: dict[int, BaseRunnable[object] | None] = {}
        for agent in agents:
            self._named.setdefault(agent.name, []).append(agent)

    def add_from(self, part: Part, builder: Builder) -> None:
        """Build the agents that are written with a task, and with all tasks inside it."""
        if isinstance(part, TaskPart) and isinstance(part.agent, Blueprint):
            built = self._written[id(part)] = builder.build_node(part.agent, "agent")
            if built is not None:
                self._named.setdefault(built.name, []).append(built)
        if isinstance(part, TaskItemPart):
            for path, inner in part.inner_tasks.items():
                self.add_from(inner, builder.at(*path))

    def find(self, part: TaskPart, builder: Builder) -> BaseRunnable[object] | None:
        """Return the agent of a task; `None` without an agent, and when there was a problem."""
        if not isinstance(part.agent, str):
            return self._written.get(id(part))
        agents = self._named.get(part.agent, [])
        if len(agents) == 1:
            return agents[0]
        hint = did_you_mean(part.agent, self._named)
        how = "agents of the ensemble have the name" if agents else "there is no agent in the ensemble with the name"
        builder.add_problem(f"{f'{len(agents)} ' if agents else ''}{how} {part.agent!r}.{hint}", "agent")
        return None
