"""Execution of the tasks of an ensemble, with the delegations between its agents."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TypeAlias

from tactician.ensemble.delegation.execution import DelegationExecutor
from tactician.ensemble.delegation.worker import TeamWorker
from tactician.ensemble.hierarchy.hierarchy import run_hierarchy
from tactician.ensemble.phases.following import run_phases
from tactician.ensemble.structure import EnsembleStructure
from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import run_tasks
from tactician.runs import RunContext

WorkflowRun: TypeAlias = Callable[[TaskEnvironment, RunContext], Coroutine[object, object, EnsembleResult]]
"""Function that runs the tasks of an ensemble in a context."""


def choose_workflow(structure: EnsembleStructure) -> WorkflowRun:
    """Return the function that runs the tasks of an ensemble, and returns the result with its delegations.

    It raises a `TaskFailedError` when a task fails.
    """
    name = structure.arguments.name
    run: WorkflowRun
    if structure.is_hierarchical:
        run = partial(run_hierarchy, name, structure.hierarchy)
    elif structure.arguments.phases:
        run = partial(run_phases, name, structure.plan)
    else:
        run = partial(run_tasks, name, structure.order)
    return partial(_run_with_delegations, structure, run) if structure.delegates else run


def _run_with_delegations(
    structure: EnsembleStructure, run: WorkflowRun, environment: TaskEnvironment, context: RunContext
) -> Coroutine[object, object, EnsembleResult]:
    workers: dict[str, TeamWorker] = {}
    for worker in structure.team:  # a model that makes agents may give a role twice
        workers.setdefault(worker.role, worker)
    executor = DelegationExecutor(workers, structure.roster.settings, context, environment.input.values)
    return executor.collect(run(environment, context.inside({DelegationExecutor: executor})))
