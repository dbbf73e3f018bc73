"""Work of a task: who does it, and with what it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

from tactician.agents import Agent
from tactician.ensemble.tasks.prompts import build_prompt, find_prompt_type
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.work.assignment import Assignment
from tactician.llm import ModelLike
from tactician.llm.usage import UsageTally
from tactician.runs import OutputError, RunContext, Runnable, RunResult

_LONGEST_REPLY: Final = 10_000
Work: TypeAlias = Callable[[TaskInput, RunContext], Awaitable[RunResult[object]]]
"""Function that does a task in a context, from its input."""


async def run_with_output_retries(job: Assignment, prompt: str, place: RunContext) -> RunResult[object]:
    """Run the Runnable of a task until its output is valid.

    An `Agent` corrects its answer in its conversation. Any other Runnable runs again, with the prompt of the task, its
    last output, and what is wrong with that. The usage of all runs counts.

    Args:
        job: the task.
        prompt: the prompt of the task.
        place: the context of the task.

    Raises:
        OutputError: when no output is valid.
        Exception: any that the Runnable raised.
    """
    retries = 0 if isinstance(job.runnable, Agent) or job.task.output_type is None else job.task.max_output_retries
    failed: list[RunResult[None]] = []
    text = prompt
    while True:
        inside = place if not failed else place.at(f"output-{len(failed) + 1}")
        try:
            result = await job.runnable.run(text, context=inside)
        except OutputError as error:
            if len(failed) >= retries:
                raise
            failed.append(error.result)
            text = f"{prompt}\n\n{_describe_mistake(error)}"
        else:
            return _add_results(result, failed) if failed else result


def _describe_mistake(error: OutputError) -> str:
    reply = error.last_reply[:_LONGEST_REPLY]
    return f"## Correction\n\nYour last answer was not valid: {error}\n\nAnswer again, corrected.\n\n{reply}"


def _add_results(result: RunResult[object], failed: list[RunResult[None]]) -> RunResult[object]:
    """Return the result with the usage and the conversations of the runs before it."""
    tally = UsageTally()
    for attempt in (*failed, result):
        tally.add(attempt.usage)
    return replace(result, tally=tally, related=(*failed, *result.related))


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
