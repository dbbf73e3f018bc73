"""Plans of tasks: the steps that a task really has, chosen once for all runs of an ensemble."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterator, Sequence
from functools import partial
from typing import TypeVar

from tactician.agents import Agent
from tactician.agents.base import find_start
from tactician.ensemble.tasks.prompts import build_prompt, find_prompt_type
from tactician.ensemble.values.output_encoding import OutputCodec
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import Template
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.composite import find_composite
from tactician.ensemble.work.reviewed_work import work_with_reviewer
from tactician.ensemble.work.task_execution import Check, Preparation, Start, TaskExecution, TaskPlan
from tactician.ensemble.work.task_learning import learn, recall
from tactician.ensemble.work.task_reviews import NO_REVIEWS, ReviewSettings, TaskGate, find_task_gate
from tactician.ensemble.work.task_signals import RetryRequested
from tactician.ensemble.work.task_work import Work, choose_work
from tactician.guardrails import GuardrailError
from tactician.guardrails.checks import Objection, find_first_objection
from tactician.guardrails.guardrail import CheckedInput, CheckedOutput, Guardrail
from tactician.llm import UserMessage
from tactician.runs import RunResult

V = TypeVar("V")


async def check_input(execution: TaskExecution) -> None:
    """Check what the agent is about to read, once.

    Raises:
        GuardrailError: when a guardrail stops the task.
    """
    task, step = execution.plan.job.task, "input guardrails"
    if execution.is_done(step):
        return
    kind = find_prompt_type(execution.plan.job.runnable, task.output_type)
    message = UserMessage(build_prompt(execution.input, kind, execution.place))
    checked = CheckedInput((message,), (message,))
    if (objection := await _find_objection(task.guards.input.all, checked, execution)) is not None:
        raise _create_error(objection, execution)
    await execution.mark_done(step)


async def check_output(execution: TaskExecution, output: TaskOutput) -> TaskOutput:
    """Check an output once, and return it.

    Raises:
        RetryRequested: when a guardrail asks for another attempt.
        GuardrailError: when a guardrail stops the task, or all attempts are used up.
    """
    task, step = execution.plan.job.task, f"output guardrails {execution.attempt}"
    if execution.is_done(step):
        return output
    checked = CheckedOutput(output.raw, output.raw if output.parsed is None else output.parsed)
    if (objection := await _find_objection(task.guards.output, checked, execution)) is not None:
        if objection.wants_retry and execution.attempt <= task.max_output_retries:
            raise RetryRequested(objection.reason)
        raise _create_error(objection, execution)
    await execution.mark_done(step)
    return output


async def _find_objection(guardrails: Sequence[Guardrail[V]], value: V, execution: TaskExecution) -> Objection | None:
    inside = execution.place.as_internal()
    with inside.enter():
        return await find_first_objection(guardrails, value, inside)


def _create_error(objection: Objection, execution: TaskExecution) -> GuardrailError:
    return objection.create_error(execution.input.task_id, execution.create_failed_result())


def create_plan(
    job: Assignment, reviews: ReviewSettings = NO_REVIEWS, *, is_last: bool = False, beside: Collection[str] = ()
) -> TaskPlan:
    """Return the plan of a task.

    Args:
        job: the task.
        reviews: the settings of the ensemble for reviews.
        is_last: true for the task that gives the ensemble its output.
        beside: the ids of the tasks that run in the same order.
    """
    task, composite = job.task, find_composite(job.task)
    checks = tuple(_list_checks(job, reviews, is_last=is_last))
    context_ids = tuple(other.id for other in job.context)
    work = _choose_work(job, reviews)
    return TaskPlan(
        job,
        task.id,
        depends_on=tuple(dict.fromkeys(name for name in context_ids if name in beside)),
        is_last=is_last,
        reviews=reviews,
        description=Template(task.description),
        expected_output=Template(task.expected_output),
        preparations=tuple(_list_preparations(job, reviews)),
        start=_choose_start(job, reviews, work),
        work=work,
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


def _choose_start(job: Assignment, reviews: ReviewSettings, work: Work) -> Start:
    """Return the function that begins the first attempt; an agent on its own has no context of the task around it."""
    if job.task.handler is not None or not isinstance(job.runnable, Agent) or reviews.reviewer is not None:
        return lambda execution: work(execution.input, execution.place)
    kind, start = job.task.output_type, find_start(job.runnable)

    def start_agent(execution: TaskExecution) -> Awaitable[RunResult[object]]:
        context = execution.run.context
        return start(build_prompt(execution.input, kind, context), context, execution)

    return start_agent


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
