"""Runs of an ensemble: its tasks on the scheduler, and what follows from their outcomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias

from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.errors import TaskFailedError, describe_cause, name_task
from tactician.ensemble.values.outcomes import SkippedTask, TaskOutcome
from tactician.ensemble.values.results import COMPLETED, FAILED, EnsembleResult, ExitReason, get_end
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.execution import TaskRunner
from tactician.ensemble.work.task_execution import TaskPlan, record_failures
from tactician.ensemble.work.task_plan import create_plan
from tactician.ensemble.work.task_reviews import NO_REVIEWS, ReviewSettings
from tactician.flow.steps import ErrorPolicy
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import Suspended

TaskErrorPolicy: TypeAlias = Literal["fail_fast", "continue"]
NO_LIMIT: Final[AbstractAsyncContextManager[object]] = nullcontext()
_RunTask: TypeAlias = Callable[[TaskPlan], Awaitable[TaskOutcome]]


@dataclass(frozen=True)
class TaskOrder:
    """Order and limits in which the tasks of an ensemble run.

    Attributes:
        jobs: the tasks, in the order of the list.
        workflow: when each of them starts.
        max_parallel: number of tasks that may run at once; no limit, when `None`.
        on_error: the effect of a failed task.
        reviews: the settings of the ensemble for reviews.
    """

    jobs: Sequence[Assignment]
    workflow: Workflow
    max_parallel: int | None
    on_error: TaskErrorPolicy
    reviews: ReviewSettings = NO_REVIEWS

    @cached_property
    def plans(self) -> tuple[TaskPlan, ...]:
        """The plans of the tasks."""
        beside = {job.task.id for job in self.jobs}
        return tuple(
            create_plan(job, self.reviews, is_last=job.task.id == self.last, beside=beside) for job in self.jobs
        )

    @cached_property
    def last(self) -> str:
        """The id of the task that gives the ensemble its output."""
        return self.workflow.find_last_tasks([job.task for job in self.jobs])[-1].id

    @cached_property
    def error_policy(self) -> ErrorPolicy:
        """The effect of a failed task, in the form of a step's effect."""
        return "drain" if self.on_error == "fail_fast" else "continue"


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
    run = runner.run if room is NO_LIMIT else partial(_run_in_room, room, runner.run)
    try:
        await order.workflow.run(
            order.plans,
            run,
            runner.note_end,
            max_parallel=order.max_parallel,
            on_error=order.error_policy,
            clock=context.clock,
        )
    except Suspended:
        if ending.reason is None and (not runner.failed or order.on_error == "continue"):
            record_failures(context, runner.failed)
            raise
    reason = FAILED if runner.failed else ending.reason or COMPLETED
    result = _create_result(order, runner, context, began, reason)
    if runner.failed:
        raise _create_error(name, result, runner.failed) from next(iter(runner.failed.values()))
    return result


async def _run_in_room(room: AbstractAsyncContextManager[object], run: _RunTask, plan: TaskPlan) -> TaskOutcome:
    async with room:
        return await run(plan)


def note_begin(context: RunContext) -> float:
    """Return the time at which the run began, in this or in an earlier run of the program."""
    assert context.checkpoint is not None
    began = context.checkpoint.data.get("began")
    if isinstance(began, float):
        return began
    now = context.services.clock.time()
    context.checkpoint.set(began=now)
    return now


def _create_result(
    order: TaskOrder, runner: TaskRunner, context: RunContext, began: float, reason: ExitReason
) -> EnsembleResult:
    """Return the result of the run, with the output of the last task, or of another task where it has none."""
    outcomes, skipped = runner.outcomes, runner.skipped
    outputs = [outcome for plan in order.plans if isinstance(outcome := outcomes.get(plan.key), TaskOutput)]
    last = next((output for output in outputs if output.task_id == order.last), outputs[-1] if outputs else None)
    outputs.sort(key=get_end)
    if len(outputs) < len(outcomes):
        reasons = {key: end.reason for key, end in outcomes.items() if isinstance(end, SkippedTask)}
        skipped = reasons | skipped
    now = context.services.clock.time()
    duration = now - began if now > began else 0.0
    return EnsembleResult.create(outputs, last, context, duration, reason, skipped)


def _create_error(name: str, result: EnsembleResult, failed: Mapping[str, Exception]) -> TaskFailedError:
    places = ((name_task(task_id), error) for task_id, error in failed.items())
    reasons = "; ".join(f"{place}: {describe_cause(place, error)}" for place, error in places)
    completed = {output.task_id: output for output in result.task_outputs}
    counts = f"{len(completed)} completed, {len(result.skipped)} skipped"
    message = f"{name}: {len(failed)} failed ({counts}): {reasons}"
    return TaskFailedError(message, result, completed, failed, result.skipped, cause=(name, reasons))
