"""Agents that a model makes for tasks without an agent: role, goal and background."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import BaseModel, Field, StringConstraints

from tactician.agents import Agent
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.work.composite import walk_tasks
from tactician.llm import ModelLike
from tactician.runs import RunContext

_INSTRUCTIONS: Final = (
    "For each task, describe the agent that is best suited to do it: a role in a few words, a goal in one sentence, "
    "and a background in one or two sentences. Answer with one agent for each task, with the number of the task."
)
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class AgentProfile(BaseModel):
    """Role, goal and background of an agent for a task."""

    task: int = Field(description="the number of the task")
    role: _Text
    goal: _Text
    background: _Text


class AgentProfiles(BaseModel):
    """Agents for tasks."""

    agents: list[AgentProfile]


def lacks_agent(task: Task) -> bool:
    """Return whether nobody is named who does a task."""
    return task.agent is None and task.handler is None


async def synthesize_agents(tasks: Iterable[Task], model: ModelLike, context: RunContext) -> Mapping[Task, Task]:
    """Return, for each task without an agent, the task with the role, goal and background that a model has chosen.

    What a task names itself stays. The model is called once, and not again when the run continues. A task that it
    leaves out gets an agent as without a model.

    Args:
        tasks: all tasks, those inside of others included.
        model: the model.
        context: the context of the run of the ensemble.

    Raises:
        OutputError: when the answer of the model is not valid.
    """
    missing = [task for task in tasks if lacks_agent(task)]
    if not missing:
        return {}
    listed = "\n".join(f"{number}. {_describe(task)}" for number, task in enumerate(missing, start=1))
    maker = Agent("synthesis", model=model, instructions=_INSTRUCTIONS, output_type=AgentProfiles)
    result = await maker.run(f"## Tasks\n\n{listed}", context=context.at("synthesis").as_internal())
    profiles = {profile.task: profile for profile in result.output.agents}
    pairs = ((task, profiles.get(number)) for number, task in enumerate(missing, start=1))
    return {task: _fill_in(task, profile) for task, profile in pairs if profile is not None}


async def synthesize_alike(tasks: Sequence[Task], model: ModelLike, context: RunContext) -> Mapping[Task, Task]:
    """Return tasks of a kind with the agents that a model has chosen for the first of them; see `synthesize_agents`.

    Args:
        tasks: the tasks, which a single function has made.
        model: the model.
        context: the context of the level at which they run.

    Raises:
        OutputError: when the answer of the model is not valid.
    """
    each = [dict(walk_tasks([("task", task)])) for task in tasks]
    first: dict[str, Task] = next((parts for parts in each if any(map(lacks_agent, parts.values()))), {})
    chosen = await synthesize_agents(first.values(), model, context)
    models = {path: chosen[part] for path, part in first.items() if part in chosen}
    return {
        part: _fill_in(part, models[path])
        for parts in each
        for path, part in parts.items()
        if path in models and lacks_agent(part)
    }


def _describe(task: Task) -> str:
    return f"{task.description} Expected output: {task.expected_output}" if task.expected_output else task.description


def _fill_in(task: Task, profile: AgentProfile | Task) -> Task:
    return replace(
        task,
        role=task.role or profile.role,
        goal=task.goal or profile.goal,
        background=task.background or profile.background,
    )
