"""Work of a task: who does it, and with what it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from tactician.agents import Agent
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.output_retries import run_with_output_retries
from tactician.ensemble.prompts import build_prompt
from tactician.ensemble.task_input import TaskInput
from tactician.llm import ModelLike
from tactician.runs import RunContext, RunResult

Work: TypeAlias = Callable[[TaskInput, RunContext], Awaitable[RunResult[object]]]
"""Function that does a task in a context, from its input."""


def choose_work(job: Assignment) -> Work:
    """Return the function that does a task."""
    is_agent = isinstance(job.runnable, Agent)
    call = _call_handler if job.task.handler is not None else _call_agent
    if call is _call_agent and job.task.output_type is not None and not is_agent:
        call = _call_with_retries
    work: Work = partial(call, job)
    # An Agent has the model among its settings.
    return work if job.model is None or is_agent else partial(_work_with_model, work, job.model)


def _call_handler(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return job.runnable.run(task, context=place)


def _call_agent(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return job.runnable.run(build_prompt(task, job.task.output_type, place), context=place)


def _call_with_retries(job: Assignment, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    return run_with_output_retries(job, build_prompt(task, job.task.output_type, place), place)


def _work_with_model(work: Work, model: ModelLike, task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
    """Do a task whose agent has no model of its own."""
    return work(task, place.with_model(*place.find_model(model)))
