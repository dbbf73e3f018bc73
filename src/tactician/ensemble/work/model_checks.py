"""Checks of the models that tasks use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from tactician.agents import Agent
from tactician.ensemble.values.ensemble_runnable import EnsembleRunnable
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.composite import find_composite
from tactician.errors import ConfigurationError, Problem
from tactician.llm import ModelLike
from tactician.runs import RunContext, Runnable


@runtime_checkable
class ModelUser(Protocol):
    """Runnable that knows the models of the tasks inside it."""

    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each model that cannot be used."""
        ...


def find_model_problems(jobs: Iterable[tuple[str, Assignment]], context: RunContext) -> Iterator[Problem]:
    """Yield a problem for each task whose model cannot be used.

    Args:
        jobs: the tasks, with their places.
        context: the context with the models.
    """
    for path, job in jobs:
        inside = _select_model(path, job.runnable, job.model, context)
        if isinstance(inside, Problem):
            yield inside
            continue
        yield from _find_problems_inside(f"{path}.agent", job.task.agent, inside)
        if find_composite(job.task) is not None and isinstance(job.runnable, ModelUser):
            yield from (problem.inside(path) for problem in job.runnable.find_model_problems(inside))


def find_team_model_problems(
    agents: Iterable[tuple[str, Runnable, ModelLike | None]], context: RunContext
) -> Iterator[Problem]:
    """Yield a problem for each agent without a task whose model cannot be used.

    Args:
        agents: the agents, with their places and the models that they use when they have none.
        context: the context with the models.
    """
    for path, runnable, model in agents:
        inside = _select_model(path, runnable, model, context)
        if isinstance(inside, Problem):
            yield inside
        else:
            yield from _find_problems_inside(path, runnable, inside)


def _select_model(path: str, runnable: Runnable, model: ModelLike | None, context: RunContext) -> RunContext | Problem:
    """Return the context of what a Runnable runs, or the problem with its model."""
    is_agent = isinstance(runnable, Agent)
    chosen = runnable.model if isinstance(runnable, Agent) else model
    if not is_agent and chosen is None:
        return context
    try:
        selected = context.find_model(chosen)
    except ConfigurationError as error:
        return Problem(f"{path}.model", str(error))
    return context if is_agent else context.with_model(*selected)


def _find_problems_inside(path: str, agent: object, context: RunContext) -> Iterator[Problem]:
    if isinstance(agent, EnsembleRunnable):
        yield from (problem.inside(path) for problem in agent.find_model_problems(context))
