"""One action on its way: tried, tried again, ended, or waiting for somebody."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter, time
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tactician.errors import PermanentError, Replan
from tactician.process.context import OperationContext, operating
from tactician.process.errors import ProcessStuckError
from tactician.process.groups import plain
from tactician.process.history import ActionRun
from tactician.process.people import asking_for
from tactician.process.retrying import ActionRetryPolicy, retried
from tactician.process.spec import ActionSpec
from tactician.runs import Frame, PendingRequest, RunContext, SavedFrame, pause_in

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


_FOR_PEOPLE: Final = ("asked", "sent")
"""What the keys of frames begin with that hold what people have answered, and what they were told."""


@dataclass(frozen=True, slots=True)
class WaitingAction:
    """An action that waits: what it has done, and what it waits for."""

    frame: SavedFrame
    pending: tuple[PendingRequest, ...]


@dataclass(slots=True)
class Outcome:
    """How an action ended.

    Attributes:
        operation: what it could reach.
        output: what it returned.
        error: what it raised in the end.
        waiting: set when it has not ended, and waits.
        replan: set when it asked to plan again without it.
        set_by_hand: the conditions that it set itself.
    """

    action: ActionSpec
    operation: OperationContext
    started_at: float
    seconds: float = 0.0
    output: object = None
    error: Exception | None = None
    waiting: WaitingAction | None = None
    replan: Replan | None = None
    attempts: int = 1
    set_by_hand: Mapping[str, bool] = field(default_factory=dict)

    def run(self, outputs: tuple[str, ...], error: Exception | None) -> ActionRun:
        """It as an entry of the history: what it gave, and what was wrong with it in the end."""
        error = error or self.replan
        text = None if error is None else f"{type(error).__name__}: {error}".removesuffix(": ")
        tally, children = self.operation.run.tally, self.operation.children
        return ActionRun(self.action.name, self.started_at, self.seconds, tally, outputs, text, self.attempts, children)


def operation_for(
    process: AgentProcess,
    action: ActionSpec,
    context: RunContext,
    waited: WaitingAction | None = None,
    responses: Mapping[str, object] = MappingProxyType({}),
) -> OperationContext:
    """What an action can reach in one of its runs.

    Args:
        context: that of the process.
        waited: what is known of it, when it has waited.
        responses: what it is told.
    """
    run = _run_context(context, action, waited, responses)
    key = f"{process.id}/{action.name}/{process.times_run(action.name) + 1}"
    return OperationContext(process, run, key, action.tool_groups)


async def perform(operation: OperationContext, action: ActionSpec, policy: ActionRetryPolicy) -> Outcome:
    """Runs an action. What it raises is in the outcome; only a cancellation passes."""
    run = operation.run
    started_at, started = time(), perf_counter()
    outcome = Outcome(action, operation, started_at)
    try:
        with asking_for(run) as asked, operating(operation), operation.blackboard.noting() as outcome.set_by_hand:
            outcome.output = await retried(partial(_attempt, outcome), policy, run.clock)
    except Replan as replan:
        outcome.replan = replan
    except BaseException as error:
        if (paused := pause_in(error)) is None:
            outcome.error = failure_in(error)
        else:
            assert run.frame is not None
            pending = {request.id: request for request in (*asked, *paused.pending)}  # of `gather`, one is raised
            outcome.waiting = WaitingAction(run.frame.to_json(), tuple(pending.values()))
    outcome.seconds = perf_counter() - started
    return outcome


async def _attempt(outcome: Outcome, number: int) -> object:
    """Runs the action. Another attempt does all anew, but neither asks nor tells people the same once more."""
    outcome.attempts, operation = number, outcome.operation
    if number > 1 and (frame := operation.run.frame) is not None:
        frame.begin_again(_FOR_PEOPLE)
    try:
        return await outcome.action.perform(operation)
    except (BaseExceptionGroup, ProcessStuckError) as raised:
        error = plain(raised)
        raise error from error.__cause__


def failure_in(error: BaseException) -> Exception:
    """What a process fails with: nothing that is raised in one may end those beside it, as `SystemExit` would.

    Raises:
        BaseException: the error itself, when it is a cancellation, or somebody at the keyboard ends the program.
    """
    error = plain(error)
    if isinstance(error, Exception):
        return error
    if isinstance(error, CancelledError | KeyboardInterrupt | GeneratorExit):
        raise error
    failure = PermanentError(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def _run_context(
    context: RunContext, action: ActionSpec, waited: WaitingAction | None, responses: Mapping[str, object]
) -> RunContext:
    run = context.child(action.name)
    if waited is None:
        return run
    return replace(run, frame=Frame.from_json(action.name, waited.frame), responses=responses)
