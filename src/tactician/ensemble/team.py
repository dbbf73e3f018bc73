"""Workers of a hierarchy: agents, other Runnables, and handlers of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tactician.agents import Agent, AgentSettings, as_runnable
from tactician.ensemble.assignment import Assignment, add_guidance, get_role
from tactician.ensemble.default_agent import create_default_agent
from tactician.ensemble.task import DEFAULT_MAX_TOOL_CALLS
from tactician.llm import ModelLike
from tactician.runs import Runnable
from tactician.tools import Toolbox, ToolLike


@dataclass(frozen=True, slots=True)
class TeamWorker:
    """Worker of a hierarchy.

    Attributes:
        role: the role, by which the manager names the worker.
        runnable: the worker.
        purpose: purpose of the worker, for the manager.
        is_handler: true when it reads a `TaskInput` and no prompt.
    """

    role: str
    runnable: Runnable
    purpose: str
    is_handler: bool = False

    @property
    def output_kind(self) -> object:
        """The declared type of its parsed output."""
        declared = getattr(self.runnable, "output_type", None)
        return object if declared in (None, str) else declared


def create_team(
    jobs: Sequence[Assignment], agents: Sequence[object] | None, model: ModelLike | None, tools: Sequence[ToolLike]
) -> Iterator[TeamWorker]:
    """Yield the workers of a hierarchy: the agents, and a worker for each handler.

    Args:
        jobs: the tasks.
        agents: the agents of the ensemble; those of the tasks, when `None`.
        model: the model of the ensemble.
        tools: the tools of the ensemble.
    """
    for agent in _find_agents(jobs) if agents is None else agents:
        if (runnable := as_runnable(agent)) is not None:
            merged = _merge_tools(agent, jobs, tools)
            yield TeamWorker(get_role(runnable), _equip(runnable, model, merged), runnable.description)
    for job in jobs:
        if job.task.handler is not None:
            yield TeamWorker(job.task.id, job.runnable, f"does this task: {job.task.description}", is_handler=True)


def describe_team(workers: Iterable[TeamWorker]) -> str:
    """Return the workers as text for their manager."""
    return "\n".join(f"- {worker.role}: {worker.purpose}" for worker in workers)


def _find_agents(jobs: Sequence[Assignment]) -> list[object]:
    """Return the agents of tasks, and those that are made for tasks without one, each once."""
    found: dict[int | str, object] = {}
    for job in jobs:
        if job.task.agent is not None:
            found.setdefault(id(job.task.agent), job.task.agent)
        elif job.task.handler is None:
            found.setdefault(job.role, create_default_agent(job.task))
    return list(found.values())


def _merge_tools(agent: object, jobs: Sequence[Assignment], tools: Sequence[ToolLike]) -> Toolbox:
    """Return the tools for an agent: those of its tasks, and those of the ensemble."""
    merged = Toolbox(tools)
    for job in jobs:
        if job.task.agent is agent:
            merged = merged.with_preferred(Toolbox(job.task.tools))
    return merged


def _equip(runnable: Runnable, model: ModelLike | None, tools: Toolbox) -> Runnable:
    if not isinstance(runnable, Agent):
        return runnable
    limit = DEFAULT_MAX_TOOL_CALLS
    settings: AgentSettings = {"model": model, "max_tool_calls": limit, "max_turns": limit}
    return add_guidance(runnable.with_defaults(more_tools=tuple(tools), **settings))
