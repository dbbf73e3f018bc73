"""Execution of the tasks of a run of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import Final

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.early_exit import ENDED, EarlyExit
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import INTERRUPTIONS
from tactician.ensemble.learning import LearningOutbox
from tactician.ensemble.lifecycle import TaskLifecycle
from tactician.ensemble.outcomes import SkippedTask, TaskOutcome, TaskOutputs
from tactician.ensemble.task_events import (
    TaskCompleted,
    TaskFailed,
    TaskRestored,
    TaskResumed,
    TaskSkipped,
    TaskStarted,
    TaskSuspended,
)
from tactician.ensemble.task_execution import TaskExecution
from tactician.ensemble.task_input import TaskInput
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_plan import TaskPlan
from tactician.ensemble.task_progress import TaskProgress
from tactician.ensemble.task_reviews import ReviewSettings
from tactician.ensemble.task_signals import EnsembleExit
from tactician.ensemble.template import fill_template
from tactician.runs import (
    BudgetError,
    RunContext,
    RunError,
    RunResult,
    RunStatus,
    Suspended,
    list_prompts,
)
from tactician.text import describe_error

_get_readable: Final = attrgetter("readable")


class TaskRunner:
    """Runner of the tasks in a run of an ensemble. A completed task is saved, and does not run again.

    Args:
        environment: what the tasks begin with.
        context: the context of the run.
        exit: the early end of the run; of this context alone by default.
    """

    __slots__ = ("_context", "_environment", "_exit", "_failures", "_internal", "_outputs")

    def __init__(self, environment: TaskEnvironment, context: RunContext, exit: EarlyExit | None = None) -> None:
        self._environment = environment
        self._context = context.at("tasks")
        self._internal = self._context.as_internal()
        self._failures = _read_failures(self._context)
        self._exit = EarlyExit(context) if exit is None else exit
        known = [outcome for outcome in environment.known.values() if isinstance(outcome, TaskOutput)]
        self._outputs: list[TaskOutput] = [*known, *environment.earlier]

    def record_failures(self, failed: Mapping[str, Exception]) -> None:
        """Record failed tasks, which do not run again when the run goes on after a suspension."""
        if failed and self._context.checkpoint is not None:
            known = {task_id: describe_error(error) for task_id, error in failed.items()}
            self._context.checkpoint.set(failures=self._failures | known)

    async def run(self, plan: TaskPlan, outcomes: Mapping[str, TaskOutcome]) -> TaskOutcome:
        """Return the outcome of a task from those of its context tasks.

        Raises:
            RunError: when the task failed before a suspension, or a limit of the run is reached.
            Exception: any that its agent or handler raised.
        """
        job, place = plan.job, self._find_place(plan)
        progress = TaskProgress(job, place, self._environment.find_revision(job.task.id))
        if self._environment.known:
            outcomes = {**self._environment.known, **outcomes}
        outputs = _find_context(plan, outcomes, self._environment)
        if (reason := self._find_reason_to_skip(plan, outputs, outcomes, progress)) is not None:
            if reason != ENDED:  # that is saved with the run
                await self._skip(job, reason, progress)
            return SkippedTask(job.task.id, reason, outputs)
        execution = TaskExecution(job, self._fill_in(job, outputs), place, progress, self._environment.outbox)
        lifecycle = TaskLifecycle(plan, execution)
        if (saved := progress.output) is not None:
            output = await lifecycle.resume(saved)
            self._report_restored(output)
        elif (performed := await self._perform(job, lifecycle, progress)) is not None:
            output = performed
        else:
            return SkippedTask(job.task.id, ENDED, outputs)
        self._outputs.append(output)
        return output

    def _find_place(self, plan: TaskPlan) -> RunContext:
        """Return the context of a task; the tasks inside a task find there how the ensemble reviews and ends."""
        place = (self._context if plan.is_last else self._internal).at(plan.job.key)
        if not plan.is_composite:
            return place
        outbox = self._environment.outbox
        return place.inside({ReviewSettings: plan.reviews, EarlyExit: self._exit, LearningOutbox: outbox})

    async def _perform(self, job: Assignment, lifecycle: TaskLifecycle, progress: TaskProgress) -> TaskOutput | None:
        """Do a task, and save and return its output; `None` when a review has ended the ensemble before it."""
        if (failure := self._failures.get(job.task.id)) is not None:
            raise RunError(failure, self._create_failed_result())
        self._begin(job, progress)
        try:
            output = await lifecycle.run()
        except EnsembleExit as signal:
            self._exit.request(signal.reason)
            if signal.output is None:
                await self._skip(job, ENDED, progress)
                return None
            output = signal.output
        except INTERRUPTIONS:
            raise
        except Exception as error:
            self._context.emit(TaskFailed, task_id=job.task.id, role=job.role, error=describe_error(error))
            raise
        except Suspended as suspended:
            prompts = list_prompts(suspended.pending)
            self._context.emit(TaskSuspended, task_id=job.task.id, role=job.role, prompts=prompts)
            raise
        await progress.save_output(output)
        self._report(output)
        return output

    async def _skip(self, job: Assignment, reason: str, progress: TaskProgress) -> None:
        """Save that a task is skipped. That is decided once."""
        if progress.skipped is None:
            await progress.save_skip(reason)
            self._context.emit(TaskSkipped, task_id=job.task.id, reason=reason)

    def _find_reason_to_skip(
        self,
        plan: TaskPlan,
        outputs: tuple[TaskOutput, ...],
        outcomes: Mapping[str, TaskOutcome],
        progress: TaskProgress,
    ) -> str | None:
        """Return why a task is not to run; `None` when it runs, or has begun to."""
        task = plan.job.task
        if progress.began is not None or progress.skipped is not None:
            return progress.skipped
        if self._exit.reason is not None:
            return ENDED
        if task.id in self._failures:
            return None
        if outcomes and not outputs and task.context:
            return "all its context tasks were skipped"
        if task.when is None or task.when(TaskOutputs(self._outputs)):
            return None
        return "its condition `when` does not hold"

    def _begin(self, job: Assignment, progress: TaskProgress) -> None:
        if progress.began is not None:
            self._context.emit(TaskResumed, task_id=job.task.id, role=job.role)
            return
        if (limit := self._context.find_limit()) is not None:
            raise BudgetError(f"task {job.task.id!r}: {limit}", self._create_failed_result())
        progress.begin(self._context.clock.time())
        self._context.emit(TaskStarted, task_id=job.task.id, role=job.role)

    def _fill_in(self, job: Assignment, outputs: tuple[TaskOutput, ...]) -> TaskInput:
        task, environment = job.task, self._environment
        values, is_first = environment.input.values, task.id in environment.first_ids
        return TaskInput(
            task.id,
            fill_template(task.description, values),
            fill_template(task.expected_output, values),
            outputs,
            values,
            environment.input.text if is_first else "",
            earlier_outputs=() if task.memory else environment.earlier,
            forgotten_outputs=environment.forgotten,
        )

    def _report(self, output: TaskOutput) -> None:
        self._context.emit(
            TaskCompleted,
            task_id=output.task_id,
            role=output.role,
            raw=output.raw,
            seconds=output.duration,
            tool_calls=output.tool_calls,
        )

    def _report_restored(self, output: TaskOutput) -> None:
        self._context.emit(
            TaskRestored,
            task_id=output.task_id,
            role=output.role,
            raw=output.raw,
            seconds=output.duration,
            ended=output.completed_at.timestamp(),
            tool_calls=output.tool_calls,
            usage=output.usage,
        )

    def _create_failed_result(self) -> RunResult[None]:
        return RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)


def _find_context(
    plan: TaskPlan, outcomes: Mapping[str, TaskOutcome], environment: TaskEnvironment
) -> tuple[TaskOutput, ...]:
    """Return the outputs that a task sees. In a sequence, a skipped task passes on those that it would have seen.

    A group of tasks chooses itself which outputs its tasks see.
    """
    outputs: list[TaskOutput] = []
    if plan.job.task.context is None and plan.job.task.id in environment.first_ids:
        outputs += environment.entry
    for name in plan.context_ids:
        outcome = outcomes.get(name)
        if isinstance(outcome, TaskOutput):
            outputs.append(outcome)
        elif outcome is not None and plan.follows_one:
            outputs += outcome.context_outputs
    return tuple(outputs) if plan.is_composite else tuple(chain.from_iterable(map(_get_readable, outputs)))


def _read_failures(context: RunContext) -> dict[str, str]:
    known = {} if context.checkpoint is None else context.checkpoint.data.get("failures")
    return {str(key): str(reason) for key, reason in known.items()} if isinstance(known, dict) else {}
