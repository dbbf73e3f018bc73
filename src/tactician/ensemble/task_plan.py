"""Plan of a task: what is the same in all runs of an ensemble."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator
from functools import partial
from typing import TypeAlias

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.composite import find_composite
from tactician.ensemble.output_encoding import OutputCodec
from tactician.ensemble.reviewed_work import work_with_reviewer
from tactician.ensemble.task_execution import TaskExecution
from tactician.ensemble.task_guardrails import check_input, check_output
from tactician.ensemble.task_learning import learn, recall
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_reviews import NO_REVIEWS, ReviewSettings, TaskGate, find_task_gate
from tactician.ensemble.task_work import Work, choose_work
from tactician.ensemble.template import Template
from tactician.frozen import frozen

Preparation: TypeAlias = Callable[[TaskExecution], Awaitable[None]]
"""Step before a task runs."""
Check: TypeAlias = Callable[[TaskExecution, TaskOutput], Awaitable[TaskOutput]]
"""Step that returns the output that counts, or asks for another attempt with `RetryRequested`."""
Conclusion: TypeAlias = Callable[[TaskExecution, TaskOutput], Awaitable[None]]
"""Step after the output is accepted."""


@frozen
class TaskPlan:
    """Task of an ensemble, with the steps that it has. Most tasks have only their work.

    Attributes:
        job: the task.
        key: its id.
        depends_on: the ids of those context tasks that run in the same order.
        is_last: true for the task whose output is that of the ensemble.
        reviews: the settings of the ensemble for reviews.
        description: its description.
        expected_output: its expected output.
        preparations: the steps before it runs, in order: what earlier runs have left, the review before, and the input
            guardrails.
        work: function that does the task.
        checks: the steps that accept its output, in order: the output guardrails, and the review after.
        conclusions: the steps after that: what later runs read.
        is_followed: true when other steps follow on the output, so that it is saved before.
        context_ids: the ids of the tasks whose outputs it sees.
        follows_one: true when it names no context, and sees the output of the task before it.
        is_composite: true when other tasks do it.
        codec: the codec for its outputs.
        is_typed: true when it has an output type.
    """

    job: Assignment
    key: str
    depends_on: tuple[str, ...]
    is_last: bool
    reviews: ReviewSettings
    description: Template
    expected_output: Template
    preparations: tuple[Preparation, ...]
    work: Work
    checks: tuple[Check, ...]
    conclusions: tuple[Conclusion, ...]
    is_followed: bool
    context_ids: tuple[str, ...]
    follows_one: bool
    is_composite: bool
    codec: OutputCodec
    is_typed: bool

    @classmethod
    def create(
        cls,
        job: Assignment,
        reviews: ReviewSettings = NO_REVIEWS,
        *,
        is_last: bool = False,
        beside: Collection[str] = (),
    ) -> TaskPlan:
        """Return the plan of a task.

        Args:
            job: the task.
            reviews: the settings of the ensemble for reviews.
            is_last: true for the task whose output is that of the ensemble.
            beside: the ids of the tasks that run in the same order.
        """
        task, composite = job.task, find_composite(job.task)
        checks = tuple(_list_checks(job, reviews, is_last=is_last))
        context_ids = tuple(other.id for other in job.context)
        return cls(
            job,
            task.id,
            depends_on=tuple(dict.fromkeys(name for name in context_ids if name in beside)),
            is_last=is_last,
            reviews=reviews,
            description=Template(task.description),
            expected_output=Template(task.expected_output),
            preparations=tuple(_list_preparations(job, reviews)),
            work=_choose_work(job, reviews),
            checks=checks,
            conclusions=(learn,) if task.learns else (),
            is_followed=bool(checks) or task.learns,
            context_ids=context_ids,
            follows_one=task.context is None and len(context_ids) == 1,
            is_composite=composite is not None,
            codec=OutputCodec(job.output_kind),
            is_typed=task.output_type is not None,
        )


def _choose_work(job: Assignment, reviews: ReviewSettings) -> Work:
    """Return the function that does a task; with a reviewer, who answers what it waits for."""
    work, composite = choose_work(job), find_composite(job.task)
    if reviews.reviewer is None or (composite is not None and composite.asks_reviewer):
        return work
    return partial(work_with_reviewer, work, reviews.reviewer)


def _list_preparations(job: Assignment, reviews: ReviewSettings) -> Iterator[Preparation]:
    if job.task.learns:
        yield recall
    if (gate := find_task_gate("before", job, reviews, is_last=False)) is not None:
        yield partial(_review_task, gate)
    if job.task.guards.input.all:
        yield check_input


def _list_checks(job: Assignment, reviews: ReviewSettings, *, is_last: bool) -> Iterator[Check]:
    if job.task.guards.output:
        yield check_output
    if (gate := find_task_gate("after", job, reviews, is_last=is_last)) is not None:
        yield partial(_review_output, gate)


def _review_task(gate: TaskGate, execution: TaskExecution) -> Awaitable[None]:
    return gate.review_task(execution.input.description, execution.place)


def _review_output(gate: TaskGate, execution: TaskExecution, output: TaskOutput) -> Awaitable[TaskOutput]:
    return gate.review_output(output, execution.attempt, execution.place)
