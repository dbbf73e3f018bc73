"""Run of an action: attempts, retries, and its outcome."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from tactician.errors import LeaseLostError, PermanentError, Rejected, Replan
from tactician.flow.steps import run_with_retries
from tactician.process.agent.operation import OperationContext
from tactician.process.agent.spec import ActionSpec
from tactician.process.people.questions import allow_questions
from tactician.process.state.errors import ProcessStuckError
from tactician.process.state.handle import ProcessHandle
from tactician.process.state.options import ActionRetryPolicy
from tactician.process.state.state import ActionRun, WaitingAction
from tactician.runs import BudgetError, OutputError, RunContext, RunKilledError
from tactician.runs.outcomes.suspension import Suspended, find_suspension
from tactician.stores.checks import escape_invalid
from tactician.text import describe_error

_FOR_PEOPLE: Final = ("asked", "sent")
"""Beginnings of the keys of checkpoints that have the answers of people, and the messages to them."""


@dataclass(slots=True)
class Outcome:
    """Outcome of a run of an action.

    Attributes:
        operation: context of the action.
        run: context of the code that runs in it.
        output: the object that it returned.
        error: exception of its last attempt.
        waiting: set when it has not ended, and waits.
        replan: set when it asked to plan again without it.
        set_by_hand: the conditions that it set itself.
    """

    action: ActionSpec
    operation: OperationContext
    run: RunContext
    started_at: float
    seconds: float = 0.0
    output: object = None
    error: Exception | None = None
    waiting: WaitingAction | None = None
    replan: Replan | None = None
    attempts: int = 1
    set_by_hand: Mapping[str, bool] = field(default_factory=dict)

    def to_run(self, outputs: tuple[str, ...], error: Exception | None) -> ActionRun:
        """Return the entry of the history, with the names of its results, and the error in the end."""
        error = error or self.replan
        text = None if error is None else escape_invalid(describe_error(error))
        tally, children = self.run.tally, self.operation.children
        return ActionRun(self.action.name, self.started_at, self.seconds, tally, outputs, text, self.attempts, children)


def create_operation(
    process: ProcessHandle,
    action: ActionSpec,
    context: RunContext,
    responses: Mapping[str, object] = MappingProxyType({}),
) -> OperationContext:
    """Create the context of a run of an action. It finds what it has done before it was suspended or interrupted.

    Args:
        process: the process that the action is part of.
        action: the action.
        context: context of the process.
        responses: the answers to its requests.
    """
    number = process.times_run(action.name) + 1
    run = context.child(action.name, key=action.name if number == 1 else f"{action.name}#{number}")
    if responses:
        run = replace(run, responses={**run.responses, **responses})
    key = f"{process.id}/{action.name}/{number}"
    return OperationContext(process, run, key, action.tool_groups, action.contributors)


def create_inner_operation(process: ProcessHandle, action: ActionSpec, context: RunContext) -> OperationContext:
    """Create the context of an action that runs inside another, in a context of its own.

    Other runs of the action may end before it, and when it runs again after a pause: so nothing depends on their
    number.
    """
    run = context.child(action.name)
    return OperationContext(process, run, run.idempotency_key, action.tool_groups, action.contributors)


async def perform(operation: OperationContext, action: ActionSpec, policy: ActionRetryPolicy) -> Outcome:
    """Run an action. Its exception is in the outcome; only a cancellation passes."""
    run = operation.run
    started_at, started = run.clock.time(), run.clock.monotonic()
    outcome = Outcome(action, operation, run, started_at)
    try:
        with allow_questions(run) as asked, operation.blackboard.note_conditions() as outcome.set_by_hand:
            outcome.output = await run_with_retries(partial(_attempt, outcome), policy, run.clock)
    except Replan as replan:
        outcome.replan = replan
    except (LeaseLostError, RunKilledError):  # not a failure of the action
        raise
    except BaseException as error:
        if (paused := find_suspension(error)) is None:
            outcome.error = to_failure(error)
        else:
            assert run.checkpoint is not None
            pending = {request.id: request for request in (*asked, *paused.pending)}  # `gather` raises a single request
            run.checkpoint.detach()
            outcome.waiting = WaitingAction(tuple(pending.values()))
    outcome.seconds = run.clock.monotonic() - started
    return outcome


async def _attempt(outcome: Outcome, number: int) -> object:
    """Run the action. Another attempt does all anew, but neither asks nor tells people the same once more."""
    outcome.attempts = number
    await outcome.run.begin_step()
    if number > 1 and (checkpoint := outcome.run.checkpoint) is not None:
        checkpoint.reset(_FOR_PEOPLE)
    try:
        return await outcome.action.perform(outcome.operation)
    except (BaseExceptionGroup, ProcessStuckError) as raised:
        error = simplify_error(raised)
        raise error from error.__cause__


def to_failure(error: BaseException) -> Exception:
    """Return the exception that a process fails with: none may end the processes beside it, as `SystemExit` would.

    Raises:
        BaseException: the error itself, when it is a cancellation, or somebody at the keyboard ends the program.
    """
    error = simplify_error(error)
    if isinstance(error, Exception):
        return error
    if isinstance(error, CancelledError | KeyboardInterrupt | GeneratorExit):
        raise error
    failure = PermanentError(describe_error(error))
    failure.__cause__ = error
    return failure


_OF_ONE_MEANING: Final = (Replan, Rejected, OutputError, BudgetError)


def simplify_error(error: BaseException) -> BaseException:
    """Return the error of a group that has a single error, or whose errors all mean the same; else the group.

    Where something failed, what else had to wait does not count. A rejection because of which a process inside is stuck
    counts as a rejection of the action around it.
    """
    failed = error.split(Suspended)[1] or error if isinstance(error, BaseExceptionGroup) else error
    first, *others = map(_get_meaning, iterate_errors(failed))
    is_one = any(all(isinstance(other, kind) for other in (first, *others)) for kind in _OF_ONE_MEANING)
    return first if is_one or not others else failed


def _get_meaning(error: BaseException) -> BaseException:
    cause = error.__cause__
    return cause if isinstance(error, ProcessStuckError) and isinstance(cause, Rejected) else error


def iterate_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group, and of the groups in it; or the error itself, when it is not a group."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for exception in error.exceptions:
        yield from iterate_errors(exception)
