"""Work of a task: who does it, and with what it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from tactician.agents import Agent
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.output_retries import run_with_output_retries
from tactician.ensemble.prompts import build_prompt
from tactician.ensemble.reviews import Reviewer, call_reviewer, is_admitted
from tactician.ensemble.task_input import TaskInput
from tactician.llm import ModelLike
from tactician.runs import RunContext, RunResult, find_suspension, restore_response, save_response

Work: TypeAlias = Callable[[TaskInput, RunContext], Awaitable[RunResult[object]]]
"""Function that does a task in a context, from its input."""


def choose_work(job: Assignment, reviewer: Reviewer | None) -> Work:
    """Return the function that does a task.

    Args:
        job: the task.
        reviewer: function that answers what the task waits for, or `None`.
    """
    is_agent = isinstance(job.runnable, Agent)
    call = _call_handler if job.task.handler is not None else _call_agent
    if call is _call_agent and job.task.output_type is not None and not is_agent:
        call = _call_with_retries
    work: Work = partial(call, job)
    if job.model is not None and not is_agent:  # an Agent has it among its settings
        work = partial(_work_with_model, work, job.model)
    return work if reviewer is None else partial(_work_with_reviewer, work, reviewer)


def _call_handler(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return job.runnable.run(task, context=place)


def _call_agent(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return job.runnable.run(build_prompt(task, job.task.output_type, place), context=place)


def _call_with_retries(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return run_with_output_retries(job, build_prompt(task, job.task.output_type, place), place)


def _work_with_model(work: Work, model: ModelLike, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    """Do a task whose agent has no model of its own."""
    return work(task, place.with_model(*place.find_model(model)))


async def _work_with_reviewer(
    work: Work, reviewer: Reviewer, task: TaskInput, place: RunContext
) -> RunResult[object]:
    """Do a task, and let a reviewer answer what it waits for: questions, and approvals of tools.

    Raises:
        Suspended: when the reviewer does not answer.
    """
    assert place.checkpoint is not None
    answers = place.checkpoint.at("answers")
    while True:
        known = {name: restore_response(saved) for name, saved in answers.data.items()}
        try:
            return await work(task, replace(place, responses={**known, **place.responses}) if known else place)
        except BaseException as error:
            suspended = find_suspension(error)
            pending = () if suspended is None else suspended.pending
            asked = [request for request in pending if request.id not in known and is_admitted(reviewer, request)]
            new = {request.id: await call_reviewer(reviewer, request) for request in asked}
            given = {name: save_response(answer) for name, answer in new.items() if answer is not None}
            if not given:
                raise
        answers.set(**given)
        place.checkpoint.detach()  # so that the run reads its completed steps from the beginning
