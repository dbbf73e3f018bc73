"""One action on its way: tried, tried again, ended, or waiting for somebody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter, time
from typing import TYPE_CHECKING

from tactician.errors import Replan
from tactician.process.context import OperationContext, operating
from tactician.process.history import ActionRun
from tactician.process.people import asking_for
from tactician.process.retrying import RetryPolicy, retried
from tactician.process.spec import ActionSpec
from tactician.runs import Frame, Paused, PendingRequest, RunContext, SavedFrame

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


@dataclass(frozen=True, slots=True)
class WaitingAction:
    """An action that waits: what it has done, and what it waits for."""

    frame: SavedFrame
    pending: tuple[PendingRequest, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an action ended.

    Attributes:
        context: that of its run.
        output: what it returned.
        error: what it raised in the end.
        waiting: set when it has not ended, and waits.
        replans: whether it asked to plan again without it.
    """

    action: ActionSpec
    context: RunContext
    started_at: float
    seconds: float
    output: object = None
    error: Exception | None = None
    waiting: WaitingAction | None = None
    replans: bool = False
    attempts: int = 1

    def run(self, outputs: tuple[str, ...], error: Exception | None) -> ActionRun:
        """It as an entry of the history: what it gave, and what was wrong with it in the end."""
        text = None if error is None else f"{type(error).__name__}: {error}"
        tally = self.context.tally
        return ActionRun(self.action.name, self.started_at, self.seconds, tally, outputs, text, self.attempts)


async def perform(
    process: AgentProcess,
    action: ActionSpec,
    context: RunContext,
    waited: WaitingAction | None,
    responses: Mapping[str, object],
    policy: RetryPolicy,
) -> Outcome:
    """Runs an action. What it raises is in the outcome; only a cancellation passes.

    Args:
        context: that of the process.
        waited: what is known of it, when it has waited.
        responses: what it is told.
    """
    run = _run_context(context, action, waited, responses)
    key = f"{process.id}/{action.name}/{process.times_run(action.name) + 1}"
    operation = OperationContext(process, run, key)
    started_at, started = time(), perf_counter()
    outcome = Outcome(action, run, started_at, 0.0)
    try:
        with asking_for(run), operating(operation):
            output, attempts = await retried(lambda: action.perform(operation), policy, context.clock)
        outcome = replace(outcome, output=output, attempts=attempts)
    except Paused as paused:
        assert run.frame is not None
        outcome = replace(outcome, waiting=WaitingAction(run.frame.to_json(), paused.pending))
    except Replan:
        outcome = replace(outcome, replans=True)
    except Exception as error:
        outcome = replace(outcome, error=error)
    return replace(outcome, seconds=perf_counter() - started)


def _run_context(
    context: RunContext, action: ActionSpec, waited: WaitingAction | None, responses: Mapping[str, object]
) -> RunContext:
    run = context.child(action.name)
    if waited is None:
        return run
    return replace(run, frame=Frame.from_json(action.name, waited.frame), responses=responses)
