"""Runs of an ensemble: its tasks on the scheduler, and what follows from their outcomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias

from tactician.clock import Clock
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.early_exit import EarlyExit
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import INTERRUPTIONS, TaskFailedError
from tactician.ensemble.execution import TaskRunner
from tactician.ensemble.outcomes import SkippedTask, TaskOutcome
from tactician.ensemble.results import EnsembleResult, ExitReason
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_plan import TaskPlan
from tactician.ensemble.task_reviews import NO_REVIEWS, ReviewSettings
from tactician.flow import (
    ErrorPolicy,
    FlowStep,
    Scheduler,
    StepCompleted,
    StepOutcome,
    StepSkipped,
    StepSuspended,
    run_in_turn,
)
from tactician.runs import RunContext, Suspended
from tactician.text import describe_error

TaskErrorPolicy: TypeAlias = Literal["fail_fast", "continue"]
NO_LIMIT: Final[AbstractAsyncContextManager[object]] = nullcontext()
_RunTask: TypeAlias = Callable[[TaskPlan, Mapping[str, TaskOutcome]], Awaitable[TaskOutcome]]


@dataclass(frozen=True)
class TaskOrder:
    """Order and limits in which the tasks of an ensemble run.

    Attributes:
        jobs: the tasks, in the order of the list.
        is_sequence: true when they run in turn; else each starts once its context tasks are completed.
        max_parallel: number of tasks that may run at once; no limit, when `None`.
        on_error: the effect of a failed task.
        reviews: the settings of the ensemble for reviews.
    """

    jobs: Sequence[Assignment]
    is_sequence: bool
    max_parallel: int | None
    on_error: TaskErrorPolicy
    reviews: ReviewSettings = NO_REVIEWS

    @cached_property
    def plans(self) -> Sequence[tuple[TaskPlan, tuple[str, ...]]]:
        """The plans of the tasks, each with the ids of its context tasks, as far as they run in this order too.

        The output of the last task is that of the ensemble.
        """
        own = {job.task.id for job in self.jobs}
        plans = (TaskPlan.create(job, self.reviews, is_last=job is self.jobs[-1]) for job in self.jobs)
        return [(plan, tuple(dict.fromkeys(name for name in plan.context_ids if name in own))) for plan in plans]


@dataclass(slots=True)
class _Outcomes:
    completed: dict[str, TaskOutput] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: StepOutcome[TaskOutcome]) -> None:
        """Add the outcome of a task.

        Raises:
            TacticianError: the error of a run that was interrupted.
        """
        if isinstance(outcome, StepCompleted):
            if isinstance(outcome.result, SkippedTask):
                self.skipped[outcome.key] = outcome.result.reason
            else:
                self.completed[outcome.key] = outcome.result
        elif isinstance(outcome, StepSkipped):
            self.skipped[outcome.key] = outcome.reason
        elif isinstance(outcome, StepSuspended):
            self.skipped[outcome.key] = "it waits for an answer"
        elif isinstance(outcome.error, INTERRUPTIONS) or not isinstance(outcome.error, Exception):
            raise outcome.error
        else:
            self.failed[outcome.key] = outcome.error

    def create_result(
        self, order: TaskOrder, context: RunContext, duration: float, reason: ExitReason
    ) -> EnsembleResult:
        """Return the result of the run, whose output is that of the last task in the list with an output."""
        outputs = [self.completed[job.task.id] for job in order.jobs if job.task.id in self.completed]
        last = outputs[-1] if outputs else None
        return EnsembleResult.create(outputs, last, context, duration, exit_reason=reason, skipped=self.skipped)


async def run_tasks(
    name: str,
    order: TaskOrder,
    environment: TaskEnvironment,
    context: RunContext,
    *,
    room: AbstractAsyncContextManager[object] = NO_LIMIT,
    exit: EarlyExit | None = None,
) -> EnsembleResult:
    """Run the tasks of an ensemble or of a phase, and return the result.

    Args:
        name: the name of the ensemble.
        order: the tasks.
        environment: what the tasks begin with.
        context: the context of the run.
        room: entered while a task runs, to limit the tasks of several phases together.
        exit: the early end of the run of the ensemble; of this context alone by default.

    Raises:
        TaskFailedError: when a task fails.
        Suspended: when tasks wait for answers, and none has failed or `on_error` is `"continue"`.
    """
    began = note_begin(context)
    ending = exit or environment.exit or EarlyExit(context)
    runner = TaskRunner(environment, context, ending)

    async def run_in_room(plan: TaskPlan, outcomes: Mapping[str, TaskOutcome]) -> TaskOutcome:
        async with room:
            return await runner.run(plan, outcomes)

    outcomes = _Outcomes()
    try:
        await _follow(order, runner.run if room is NO_LIMIT else run_in_room, outcomes, context)
    except Suspended:
        if ending.reason is None and (not outcomes.failed or order.on_error == "continue"):
            runner.record_failures(outcomes.failed)
            raise
    reason = ExitReason.FAILED if outcomes.failed else ending.reason or ExitReason.COMPLETED
    result = outcomes.create_result(order, context, max(0.0, context.services.clock.time() - began), reason)
    if outcomes.failed:
        raise _create_error(name, outcomes, result) from next(iter(outcomes.failed.values()))
    return result


def _follow(
    order: TaskOrder, run_task: _RunTask, outcomes: _Outcomes, context: RunContext
) -> Coroutine[object, object, None]:
    """Run the tasks, and collect their outcomes. In a sequence, a task that waits holds up those behind it."""
    on_error: ErrorPolicy = "drain" if order.on_error == "fail_fast" else "continue"
    steps = [FlowStep(plan.job.task.id, partial(run_task, plan), needed) for plan, needed in order.plans]
    clock = context.services.clock
    if order.is_sequence:
        return run_in_turn(steps, outcomes.add, on_error=on_error, clock=clock)
    return _schedule(steps, outcomes, order.max_parallel, on_error, clock)


async def _schedule(
    steps: Iterable[FlowStep[TaskOutcome]],
    outcomes: _Outcomes,
    max_parallel: int | None,
    on_error: ErrorPolicy,
    clock: Clock,
) -> None:
    async with Scheduler[TaskOutcome](max_concurrency=max_parallel, on_error=on_error, clock=clock) as scheduler:
        scheduler.add(*steps)
        async for outcome in scheduler:
            outcomes.add(outcome)


def note_begin(context: RunContext) -> float:
    """Return the time at which the run began, in this or in an earlier run of the program."""
    assert context.checkpoint is not None
    began = context.checkpoint.data.get("began")
    if isinstance(began, float):
        return began
    now = context.services.clock.time()
    context.checkpoint.set(began=now)
    return now


def _create_error(name: str, outcomes: _Outcomes, result: EnsembleResult) -> TaskFailedError:
    failures = "; ".join(f"task {task_id!r}: {describe_error(error)}" for task_id, error in outcomes.failed.items())
    counts = f"{len(outcomes.completed)} completed, {len(outcomes.skipped)} skipped"
    message = f"{name}: {len(outcomes.failed)} failed ({counts}): {failures}"
    return TaskFailedError(message, result, outcomes.completed, outcomes.failed, outcomes.skipped)
