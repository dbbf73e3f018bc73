"""Team of an ensemble: the workers to which a manager, or a peer, delegates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tactician.agents import Agent
from tactician.agents.planned.specs import as_runnable
from tactician.agents.spec import AgentSettings
from tactician.ensemble.delegation.roster import Roster, TeamAgent, get_role
from tactician.ensemble.delegation.worker import TeamWorker
from tactician.ensemble.tasks.task import DEFAULT_MAX_TOOL_CALLS, Task
from tactician.ensemble.work.assignment import Assignment, add_guidance
from tactician.llm import ModelLike
from tactician.runs import Runnable
from tactician.tools.toolbox import Toolbox, ToolLike


def create_team(
    agents: Iterable[TeamAgent], model: ModelLike | None, tools: Sequence[ToolLike], roster: Roster
) -> Iterator[TeamWorker]:
    """Yield a worker for each agent of an ensemble. What it leaves open is as its tasks say, and then the ensemble.

    Args:
        agents: the agents, with their tasks.
        model: the model of the ensemble.
        tools: the tools of the ensemble.
        roster: the agents to which each of them may delegate, if it may delegate.
    """
    for member in agents:
        if (runnable := as_runnable(member.agent)) is not None:
            chosen = next((task.model for task in member.tasks if task.model is not None), model)
            equipped = _equip(runnable, member.tasks, chosen, tools, roster)
            yield TeamWorker(get_role(runnable), equipped, runnable.description, model=chosen)


def list_handlers(jobs: Sequence[Assignment]) -> Iterator[TeamWorker]:
    """Yield a worker for each handler, whose role is the id of its task."""
    for job in jobs:
        if job.task.handler is not None:
            purpose = f"does this task: {job.task.description}"
            yield TeamWorker(job.task.id, job.runnable, purpose, is_handler=True, model=job.model)


def find_duplicates(workers: Sequence[TeamWorker]) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each role that several workers have."""
    roles = [worker.role for worker in workers]
    for role in dict.fromkeys(role for role in roles if roles.count(role) > 1):
        problem = f"{roles.count(role)} workers have the role {role!r}: who delegates could not tell them apart"
        yield "agents", problem


def _equip(
    runnable: Runnable, tasks: Sequence[Task], model: ModelLike | None, tools: Sequence[ToolLike], roster: Roster
) -> Runnable:
    if not isinstance(runnable, Agent):
        return runnable
    merged = Toolbox(tools)
    for more in (*(task.tools for task in tasks), tuple(roster.create_tools(runnable))):
        merged = merged.with_preferred(Toolbox(more))
    calls = max((task.max_tool_calls for task in tasks), default=DEFAULT_MAX_TOOL_CALLS)
    limits = [task.max_tool_output_chars for task in tasks if task.max_tool_output_chars is not None]
    settings: AgentSettings = {
        "model": model,
        "max_tool_calls": calls,
        "max_turns": calls,
        "max_tool_output_chars": max(limits, default=None),
    }
    return add_guidance(runnable.with_defaults(more_tools=merged.contents, **settings))
