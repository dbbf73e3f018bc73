"""Lifecycle of a task in a run: its steps, in their order; each is done once, also when the run continues elsewhere.

1. What earlier runs have left: entries of the memory, and reflections.
2. The review before.
3. Input guardrails.
4. The attempt: the prompt, and the agent or the handler, whose output is validated as the output type. Its questions
   and approvals go to the reviewer first.
5. Output guardrails. A guardrail that asks for a retry leads to another attempt.
6. The review after. It may edit the output, ask for another attempt, or end the ensemble.
7. What later runs read: the output in the memory, and a reflection on it.

The plan of the task has those that it needs; all but the attempt are optional. At the end the output is saved.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Final

from tactician.ensemble.tasks.events import (
    TaskCompleted,
    TaskFailed,
    TaskRestored,
    TaskResumed,
    TaskSkipped,
    TaskStarted,
    TaskSuspended,
)
from tactician.ensemble.values.early_exit import ENDED
from tactician.ensemble.values.errors import INTERRUPTIONS
from tactician.ensemble.values.outcomes import SkippedTask, TaskOutcome
from tactician.ensemble.values.output_creation import create_task_output, restore_object
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.task_rules import Complete, TaskRules
from tactician.ensemble.work.task_execution import TaskExecution
from tactician.ensemble.work.task_learning import learn_again
from tactician.ensemble.work.task_signals import EnsembleExit, RetryRequested
from tactician.errors import RuleRefusedError
from tactician.runs import BudgetError, RepeatLimitError, RunContext, RunResult, list_prompts
from tactician.runs.outcomes.suspension import Suspended
from tactician.text import describe_error

_MOST_ATTEMPTS: Final = 100


async def perform_task(execution: TaskExecution) -> TaskOutcome:
    """Do all steps of a task, and return its output; that it is skipped, when a review has ended the ensemble before.

    Args:
        execution: the input of the task, its plan, and its progress in the run.

    Raises:
        ReviewRejectedError: when nobody has decided in time, and that rejects the task.
        GuardrailError: when a guardrail stops the task.
        RuleRefusedError: when the task would break a rule of the ensemble.
        BudgetError: when the run has reached a limit.
        Exception: any that the agent or the handler raised.
    """
    if (rules := execution.run.context.find(TaskRules)) is None:
        return await _perform(execution)
    _check_rules(rules, execution)
    with rules.observe(execution.plan.key) as complete:
        return await _perform(execution, complete)


def _check_rules(rules: TaskRules, execution: TaskExecution) -> None:
    try:
        rules.check(execution.plan.key)
    except RuleRefusedError as refusal:
        execution.run.context.emit(
            TaskFailed, task_id=execution.plan.key, role=execution.plan.job.role, error=describe_error(refusal)
        )
        raise


async def _perform(execution: TaskExecution, complete: Complete | None = None) -> TaskOutcome:
    plan, context = execution.plan, execution.run.context
    is_observed = context.services.bus.is_observed
    _begin(execution, is_observed)
    try:
        for prepare in plan.preparations:
            await prepare(execution)
        if plan.is_followed:
            output = await _find_accepted_output(execution)
        else:  # there is a single attempt
            output = _create_output(execution, await plan.start(execution))
    except EnsembleExit as signal:
        execution.run.exit.request(signal.reason)
        if signal.output is None:
            return await skip_task(SkippedTask(plan.key, ENDED, execution.input.context_outputs), execution)
        output = signal.output
    except BaseException as error:
        execution.checkpoint.set(began=execution.began)
        _report_failure(execution, error)
        raise
    if complete is not None:
        complete(output)
    if plan.is_followed:
        execution.checkpoint.set(draft=None, earlier=None)
    execution.checkpoint.set(began=execution.began, output=execution.encode(output))
    if execution.checkpoint.journal is not None:
        await execution.place.save_step("task", plan.key, output.raw)
    execution.run.outcomes[plan.key] = output
    if is_observed:
        _report_completion(output, context)
    return output


async def restore_task(execution: TaskExecution, saved: TaskOutput) -> TaskOutput:
    """Return the saved output of a completed task, and leave again what it has left in an outbox."""
    plan, output = execution.plan, await _restore(execution, saved)
    if output is saved and plan.is_composite and execution.outbox.holds:
        await _begin_work(execution)  # the tasks inside leave theirs again
    if (rules := execution.run.context.find(TaskRules)) is not None:
        rules.note_output(plan.key, output)
    await learn_again(execution, output)
    execution.run.outcomes[plan.key] = output
    execution.place.emit(
        TaskRestored,
        task_id=output.task_id,
        role=output.role,
        raw=output.raw,
        seconds=output.duration,
        ended=output.ended,
        tool_calls=output.tool_calls,
        usage=output.usage,
    )
    return output


async def skip_task(skipped: SkippedTask, execution: TaskExecution) -> SkippedTask:
    """Save that a task is skipped. That is decided once."""
    if execution.skipped is None:
        await execution.save_skip(skipped.reason)
        execution.place.emit(TaskSkipped, task_id=skipped.task_id, reason=skipped.reason)
    execution.run.outcomes[skipped.task_id] = skipped
    return skipped


def _begin(execution: TaskExecution, is_observed: bool) -> None:
    task_id, role, context = execution.input.task_id, execution.plan.job.role, execution.run.context
    if execution.began is not None:
        context.emit(TaskResumed, task_id=task_id, role=role)
        return
    if (limit := context.find_limit()) is not None:
        raise BudgetError(f"task {task_id!r}: {limit}", execution.create_failed_result())
    execution.began = now = context.services.clock.time()
    if execution.checkpoint.journal is not None:  # else nobody reads it before the task is done, or waits
        execution.checkpoint.set(began=now)
    if is_observed:
        context.emit(TaskStarted, task_id=task_id, role=role)


def _report_completion(output: TaskOutput, context: RunContext) -> None:
    context.emit(
        TaskCompleted,
        task_id=output.task_id,
        role=output.role,
        raw=output.raw,
        seconds=output.duration,
        tool_calls=output.tool_calls,
    )


def _report_failure(execution: TaskExecution, error: BaseException) -> None:
    """Report a task that failed or waits, but no interruption."""
    task_id, context, role = execution.input.task_id, execution.run.context, execution.plan.job.role
    if isinstance(error, Suspended):
        context.emit(TaskSuspended, task_id=task_id, role=role, prompts=list_prompts(error.pending))
    elif isinstance(error, Exception) and not isinstance(error, INTERRUPTIONS):
        context.emit(TaskFailed, task_id=task_id, role=role, error=describe_error(error))


async def _find_accepted_output(execution: TaskExecution) -> TaskOutput:
    """Return the output of the first attempt that the checks accept, after the steps that follow on it."""
    output = await _attempt(execution)
    while (accepted := await _check(execution, output)) is None:
        output = await _attempt(execution)
    for conclude in execution.plan.conclusions:
        await conclude(execution, accepted)
    return _finish(execution, accepted)


async def _attempt(execution: TaskExecution) -> TaskOutput:
    """Return the output of an attempt, which is saved for the steps that follow on it."""
    if (draft := execution.draft) is not None:
        return await _restore(execution, draft)
    output = _create_output(execution, await _begin_work(execution))
    await execution.save_draft(output)
    return output


def _begin_work(execution: TaskExecution) -> Awaitable[RunResult[object]]:
    """Return the work of an attempt."""
    plan = execution.plan
    if execution.attempt == 1:
        return plan.start(execution)
    task = replace(execution.input, revision=execution.create_revision())
    return plan.work(task, execution.place.at(f"attempt-{execution.attempt}"))


async def _check(execution: TaskExecution, output: TaskOutput) -> TaskOutput | None:
    """Return the output that counts; `None` when another attempt has to follow."""
    checked = output
    try:
        for check in execution.plan.checks:
            checked = await check(execution, checked)
    except RetryRequested as request:
        if execution.attempt >= _MOST_ATTEMPTS:
            message = f"{execution.plan.key!r}: no accepted output in {_MOST_ATTEMPTS} attempts"
            raise RepeatLimitError(message, execution.create_failed_result()) from request
        await execution.begin_attempt(output, request.feedback)
        return None
    except EnsembleExit as signal:
        raise EnsembleExit(signal.reason, _finish(execution, output)) from signal
    if checked is not output:
        execution.note_run(has_run=False)  # the object comes from the reviewer, and is not in the saved run
    return checked


def _create_output(execution: TaskExecution, result: RunResult[object]) -> TaskOutput:
    plan, now = execution.plan, execution.run.context.services.clock.time()
    began = execution.began or now
    output = create_task_output(execution.input, plan.job.role, result, began, now, plan.is_typed)
    if output.parsed is not None or output.parts or execution.has_run:
        execution.note_run(has_run=plan.job.has_run(output))
    if execution.attempt == 1 or (earlier := execution.earlier) is None:
        return output
    used, calls = earlier.usage + output.usage, earlier.tool_calls + output.tool_calls
    return replace(output, usage=used, tool_calls=calls)


async def _restore(execution: TaskExecution, output: TaskOutput) -> TaskOutput:
    """Return a saved output. An object that it lacks is in the saved run of its agent."""
    if output.parsed is not None or not execution.has_run:
        return output
    return restore_object(output, await _begin_work(execution), is_typed=execution.plan.is_typed)


def _finish(execution: TaskExecution, output: TaskOutput) -> TaskOutput:
    """Return an output on which other steps followed with the time of the end of the task."""
    now = execution.run.context.clock.time()
    duration = max(0.0, now - (execution.began or now))
    return replace(output, ended=now, duration=duration)
