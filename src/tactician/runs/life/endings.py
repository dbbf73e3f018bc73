"""Ends of runs: completed, failed, ended by a limit, or suspended for now."""

from __future__ import annotations

from typing import TypeVar, cast

from tactician.errors import StoredStateError
from tactician.runs.context.context import RunContext
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.output import format_output, record_output
from tactician.runs.outcomes.errors import BudgetError, RunError, get_end_status, is_final
from tactician.runs.outcomes.events import RunSuspended
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest, Suspended, list_prompts
from tactician.text import describe_error

T = TypeVar("T")


async def complete_run(run: DurableRun, context: RunContext, result: RunResult[T]) -> None:
    """Save that a run has completed, with its output."""
    if context.checkpoint is not None:
        record_output(context.checkpoint, result.output)
    text = format_output(result.output)
    await run.save_status(RunStatus.COMPLETED, step="completed", detail=text, output=text)


async def suspend_run(run: DurableRun, context: RunContext, suspended: Suspended) -> RunResult[T]:
    """Save that a run waits for answers, or, where there is nothing to answer, that a process inside it is paused.

    Raises:
        BudgetError: when the deadline of the run has passed meanwhile; then it has ended.
    """
    if (missed := context.find_missed_deadline()) is not None:
        raise await terminate_run(run, context, missed) from None
    pending = suspended.pending
    status = RunStatus.WAITING if pending else RunStatus.PAUSED
    if pending:
        context.emit(RunSuspended, pending=pending)  # before the step, which keeps it
    step = "suspended" if pending else "paused"
    await run.save_status(status, step=step, detail=list_prompts(pending), pending=pending)
    return create_resting_result(context, status, pending)


async def terminate_run(run: DurableRun, context: RunContext, limit: str) -> BudgetError:
    """Save that a run has reached a limit between two of its steps; return the error that says so."""
    await run.save_status(RunStatus.TERMINATED, step="terminated", detail=limit, failure=limit)
    result = RunResult(None, RunStatus.TERMINATED, tally=context.tally, run_id=context.run_id)
    return BudgetError(f"{run.record.name}: {limit}", result)


async def fail_run(run: DurableRun, error: Exception, pending: tuple[PendingRequest, ...]) -> None:
    """Save that a run has failed, or that it waits again for what it waited for before, if that may help."""
    failure = describe_error(error)
    step = "" if isinstance(error, StoredStateError) else "failed"  # what cannot be saved is left out
    if pending and not is_final(error):
        await run.save_status(RunStatus.WAITING, step=step, detail=failure, pending=pending, failure=failure)
    else:
        is_refusal = isinstance(error, RunError) and error.refuses_input
        status = get_end_status(error)
        await run.save_status(status, step=step, detail=failure, failure=failure, refuses_input=is_refusal)


def create_resting_result(
    context: RunContext, status: RunStatus, pending: tuple[PendingRequest, ...] = ()
) -> RunResult[T]:
    """Return the result of a run that has not ended, and has no output yet."""
    result = RunResult(None, status, tally=context.tally, run_id=context.run_id, pending=pending)
    return cast("RunResult[T]", result)
