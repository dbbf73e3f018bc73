"""Execution of the tasks of an ensemble, with the delegations between its agents."""

from __future__ import annotations

from collections.abc import Coroutine

from tactician.ensemble.delegation_execution import DelegationExecutor
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.hierarchy import run_hierarchy
from tactician.ensemble.phases import run_phases
from tactician.ensemble.results import EnsembleResult
from tactician.ensemble.running import run_tasks
from tactician.ensemble.structure import EnsembleStructure
from tactician.runs import RunContext


def run_structure(
    structure: EnsembleStructure, environment: TaskEnvironment, context: RunContext
) -> Coroutine[object, object, EnsembleResult]:
    """Run the tasks of an ensemble when it is awaited, and return the result with its delegations.

    Args:
        structure: the tasks.
        environment: the input and the outputs with which the tasks begin.
        context: the context of the run.

    Raises:
        TaskFailedError: when a task fails.
    """
    if not structure.delegates:
        return _run_workflow(structure, environment, context)
    workers = {worker.role: worker for worker in structure.team}
    settings, model = structure.roster.settings, structure.arguments.model
    executor = DelegationExecutor(workers, settings, model, context, environment.input.values)
    inside = context.inside({DelegationExecutor: executor})
    return executor.collect(_run_workflow(structure, environment, inside))


def _run_workflow(
    structure: EnsembleStructure, environment: TaskEnvironment, context: RunContext
) -> Coroutine[object, object, EnsembleResult]:
    name = structure.arguments.name
    if structure.is_hierarchical:
        return run_hierarchy(name, structure.hierarchy, environment, context)
    if structure.arguments.phases:
        return run_phases(name, structure.plan, environment, context)
    return run_tasks(name, structure.order, environment, context)
