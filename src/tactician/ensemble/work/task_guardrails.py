"""Guardrails of a task: checks of its prompt, and of its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tactician.ensemble.tasks.prompts import build_prompt, find_prompt_type
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.task_execution import TaskExecution
from tactician.ensemble.work.task_signals import RetryRequested
from tactician.guardrails import GuardrailError
from tactician.guardrails.checks import Objection, find_first_objection
from tactician.guardrails.guardrail import CheckedInput, CheckedOutput, Guardrail
from tactician.llm import UserMessage

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
