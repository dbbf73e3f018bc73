"""Workflows: the order in which the tasks of an ensemble run."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tactician.ensemble.tasks.task import Task


class Workflow(StrEnum):
    """Order in which the tasks of an ensemble run."""

    SEQUENTIAL = "sequential"
    """One after another, in the order of the list. A task that names no context gets the output of the task before."""
    PARALLEL = "parallel"
    """Each as soon as its context tasks are completed."""
    HIERARCHICAL = "hierarchical"
    """As a manager decides, who delegates to workers and answers in the end."""


def infer_workflow(tasks: Sequence[Task]) -> Workflow:
    """Return the workflow of tasks for which none is declared: parallel when a task has a context, else sequential."""
    return Workflow.PARALLEL if any(getattr(task, "context", None) for task in tasks) else Workflow.SEQUENTIAL


def find_first_tasks(tasks: Sequence[Task], workflow: Workflow) -> list[Task]:
    """Return the tasks that begin the work: the first of a sequence, else all without a context."""
    if workflow is Workflow.SEQUENTIAL:
        return list(tasks[:1])
    return [task for task in tasks if not task.context]


def find_last_tasks(tasks: Sequence[Task], workflow: Workflow) -> tuple[Task, ...]:
    """Return the tasks that the work ends with: the last of a sequence, else all whose outputs no other one reads.

    The last task's output becomes the output of the ensemble or the phase.
    """
    if workflow is not Workflow.PARALLEL:
        return tuple(tasks[-1:])
    read = {other.id for task in tasks for other in task.named_context}
    return tuple(task for task in tasks if task.id not in read)


def find_context(tasks: Sequence[Task], number: int, workflow: Workflow) -> tuple[Task, ...]:
    """Return the tasks whose outputs a task sees."""
    if (named := tasks[number].context) is not None:
        return tuple(task.as_task() for task in named)
    return tuple(tasks[number - 1 : number]) if workflow is Workflow.SEQUENTIAL and number else ()
