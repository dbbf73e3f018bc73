"""Work of a task: who does it, and with what it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tactician.agents import Agent
from tactician.ensemble.tasks.prompts import build_prompt, find_prompt_type
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.output_retries import run_with_output_retries
from tactician.llm import ModelLike
from tactician.runs import RunContext, Runnable, RunResult

Work: TypeAlias = Callable[[TaskInput, RunContext], Awaitable[RunResult[object]]]
"""Function that does a task in a context, from its input."""


def choose_work(job: Assignment) -> Work:
    """Return the function that does a task."""
    work = _call_handler(job.runnable) if job.task.handler is not None else _call_agent(job)
    if job.model is None or isinstance(job.runnable, Agent):  # an Agent has the model among its settings
        return work
    return _with_model(work, job.model)


def _call_handler(runnable: Runnable) -> Work:
    def work(task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
        return runnable.run(task, context=place)

    return work


def _call_agent(job: Assignment) -> Work:
    kind, agent = job.task.output_type, job.runnable
    shown = find_prompt_type(agent, kind)

    def work(task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
        return agent.run(build_prompt(task, shown, place), context=place)

    def work_with_retries(task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
        return run_with_output_retries(job, build_prompt(task, shown, place), place)

    return work if kind is None or isinstance(agent, Agent) else work_with_retries


def _with_model(work: Work, model: ModelLike) -> Work:
    """Return the work of a task whose agent has no model of its own."""

    def work_with_model(task: TaskInput, place: RunContext) -> Awaitable[RunResult[object]]:
        return work(task, place.with_model(*place.find_model(model)))

    return work_with_model
