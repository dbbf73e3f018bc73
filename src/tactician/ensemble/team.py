"""Team of an ensemble: the workers to which a manager, or a peer, delegates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tactician.agents import Agent, AgentSettings, as_runnable
from tactician.ensemble.assignment import Assignment, add_guidance
from tactician.ensemble.roster import Roster, get_role
from tactician.ensemble.task import DEFAULT_MAX_TOOL_CALLS, Task
from tactician.ensemble.worker import TeamWorker
from tactician.llm import ModelLike
from tactician.runs import Runnable
from tactician.tools import Toolbox, ToolLike


def create_team(
    tasks: Sequence[Task],
    agents: Sequence[object],
    model: ModelLike | None,
    tools: Sequence[ToolLike],
    roster: Roster,
) -> Iterator[TeamWorker]:
    """Yield a worker for each agent of an ensemble.

    Args:
        tasks: the tasks, whose agents have their tools.
        agents: the agents.
        model: the model of the ensemble.
        tools: the tools of the ensemble.
        roster: the agents to which each of them may delegate, if it may delegate.
    """
    for agent in agents:
        if (runnable := as_runnable(agent)) is not None:
            merged = _merge_tools(agent, tasks, tools)
            equipped = _equip(runnable, model, merged, roster)
            yield TeamWorker(get_role(runnable), equipped, runnable.description)


def list_handlers(jobs: Sequence[Assignment]) -> Iterator[TeamWorker]:
    """Yield a worker for each handler, whose role is the id of its task."""
    for job in jobs:
        if job.task.handler is not None:
            yield TeamWorker(job.task.id, job.runnable, f"does this task: {job.task.description}", is_handler=True)


def find_duplicates(workers: Sequence[TeamWorker]) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each role that several workers have."""
    roles = [worker.role for worker in workers]
    for role in dict.fromkeys(role for role in roles if roles.count(role) > 1):
        problem = f"{roles.count(role)} workers have the role {role!r}: who delegates could not tell them apart"
        yield "agents", problem


def _merge_tools(agent: object, tasks: Sequence[Task], tools: Sequence[ToolLike]) -> Toolbox:
    """Return the tools for an agent: those of its tasks, and those of the ensemble."""
    merged = Toolbox(tools)
    for task in tasks:
        if task.agent is agent:
            merged = merged.with_preferred(Toolbox(task.tools))
    return merged


def _equip(runnable: Runnable, model: ModelLike | None, tools: Toolbox, roster: Roster) -> Runnable:
    if not isinstance(runnable, Agent):
        return runnable
    limit = DEFAULT_MAX_TOOL_CALLS
    more = tools.with_preferred(Toolbox(roster.create_tools(runnable)))
    settings: AgentSettings = {"model": model, "max_tool_calls": limit, "max_turns": limit}
    return add_guidance(runnable.with_defaults(more_tools=more.contents, **settings))
