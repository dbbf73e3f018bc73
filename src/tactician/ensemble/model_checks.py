"""Checks of the models that tasks use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from tactician.agents import Agent
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.composite import find_composite
from tactician.ensemble.ensemble_runnable import EnsembleRunnable
from tactician.errors import ConfigurationError, Problem
from tactician.runs import RunContext


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
        runnable = job.runnable
        is_agent = isinstance(runnable, Agent)
        model = runnable.model if isinstance(runnable, Agent) else job.model
        inside = context
        if is_agent or model is not None:
            try:
                selected = context.find_model(model)
            except ConfigurationError as error:
                yield Problem(f"{path}.model", str(error))
                continue
            inside = context if is_agent else context.with_model(*selected)
        if isinstance(job.task.agent, EnsembleRunnable):
            yield from (problem.inside(f"{path}.agent") for problem in job.task.agent.find_model_problems(inside))
        if find_composite(job.task) is not None and isinstance(runnable, ModelUser):
            yield from (problem.inside(path) for problem in runnable.find_model_problems(inside))
