"""Execution of the tasks of an ensemble, with the delegations between its agents."""

from __future__ import annotations

from dataclasses import replace

from tactician.ensemble.delegation_execution import DelegationExecutor
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.hierarchy import run_hierarchy
from tactician.ensemble.phases import run_phases
from tactician.ensemble.results import EnsembleResult
from tactician.ensemble.running import run_tasks
from tactician.ensemble.structure import EnsembleStructure
from tactician.runs import RunContext


async def run_structure(
    structure: EnsembleStructure, environment: TaskEnvironment, context: RunContext
) -> EnsembleResult:
    """Run the tasks of an ensemble, and return the result with its delegations.

    Args:
        structure: the tasks.
        environment: the input and the outputs with which the tasks begin.
        context: the context of the run.

    Raises:
        TaskFailedError: when a task fails.
    """
    if not structure.delegates:
        return await _run_workflow(structure, environment, context)
    workers = {worker.role: worker for worker in structure.team}
    settings, model = structure.roster.settings, structure.arguments.model
    executor = DelegationExecutor(workers, settings, model, context, environment.input.values)
    inside = context.inside({DelegationExecutor: executor})
    return await executor.collect(_run_workflow(structure, environment, inside))


async def _run_workflow(
    structure: EnsembleStructure, environment: TaskEnvironment, context: RunContext
) -> EnsembleResult:
    name = structure.arguments.name
    if structure.is_hierarchical:
        return await run_hierarchy(name, structure.hierarchy, environment, context)
    inside = replace(environment, first_ids=structure.first_ids)
    if structure.arguments.phases:
        return await run_phases(name, structure.plan, inside, context)
    return await run_tasks(name, structure.order, inside, context)
