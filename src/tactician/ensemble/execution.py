"""Execution of the tasks of a run of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.composite import find_composite
from tactician.ensemble.early_exit import ENDED, EarlyExit
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import INTERRUPTIONS
from tactician.ensemble.learning import LearningOutbox
from tactician.ensemble.lifecycle import TaskLifecycle
from tactician.ensemble.outcomes import SkippedTask, TaskOutcome, TaskOutputs, collect_context
from tactician.ensemble.task_events import (
    TaskCompleted,
    TaskFailed,
    TaskRestored,
    TaskResumed,
    TaskSkipped,
    TaskStarted,
    TaskSuspended,
)
from tactician.ensemble.task_input import TaskInput
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_progress import TaskProgress
from tactician.ensemble.task_reviews import EnsembleExit, ReviewSettings, TaskReviews
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

NO_REVIEWS: Final = ReviewSettings()


class TaskRunner:
    """Runner of the tasks in a run of an ensemble. A completed task is saved, and does not run again.

    Args:
        environment: what the tasks begin with.
        last_id: id of the task whose output is that of the ensemble.
        context: the context of the run.
        reviews: the settings of the ensemble for reviews.
        exit: the early end of the run; of this context alone by default.
    """

    __slots__ = ("_context", "_environment", "_exit", "_failures", "_internal", "_last_id", "_outputs", "_reviews")

    def __init__(
        self,
        environment: TaskEnvironment,
        last_id: str,
        context: RunContext,
        *,
        reviews: ReviewSettings = NO_REVIEWS,
        exit: EarlyExit | None = None,
    ) -> None:
        self._environment = environment
        self._last_id = last_id
        self._context = context.at("tasks")
        self._internal = self._context.as_internal()
        self._failures = _read_failures(self._context)
        self._reviews = reviews
        self._exit = EarlyExit(context) if exit is None else exit
        known = (outcome for outcome in environment.known.values() if isinstance(outcome, TaskOutput))
        self._outputs: list[TaskOutput] = [*known, *environment.earlier]

    def record_failures(self, failed: Mapping[str, Exception]) -> None:
        """Record failed tasks, which do not run again when the run goes on after a suspension."""
        if failed and self._context.checkpoint is not None:
            known = {task_id: describe_error(error) for task_id, error in failed.items()}
            self._context.checkpoint.set(failures=self._failures | known)

    async def run(self, job: Assignment, outcomes: Mapping[str, TaskOutcome]) -> TaskOutcome:
        """Return the outcome of a task from those of its context tasks.

        Raises:
            RunError: when the task failed before a suspension, or a limit of the run is reached.
            Exception: what its agent or handler raised.
        """
        place = (self._context if job.task.id == self._last_id else self._internal).at(job.key)
        if find_composite(job.task) is not None:
            outbox = self._environment.outbox
            place = place.inside({ReviewSettings: self._reviews, EarlyExit: self._exit, LearningOutbox: outbox})
        progress = TaskProgress(job, place, self._environment.find_revision(job.task.id))
        if self._environment.known:
            outcomes = {**self._environment.known, **outcomes}
        outputs = _find_context(job, outcomes, self._environment)
        if (skipped := await self._find_skip(job, outputs, outcomes, progress)) is not None:
            return skipped
        reviews = TaskReviews(job, self._reviews, place, is_last=job.task.id == self._last_id)
        task, outbox = self._fill_in(job, outputs), self._environment.outbox
        lifecycle = TaskLifecycle(job, task, place, progress, reviews, outbox)
        if (saved := progress.output) is not None:
            output = await lifecycle.resume(saved)
            self._report_restored(output)
        elif (performed := await self._perform(job, lifecycle, progress)) is not None:
            output = performed
        else:
            return SkippedTask(job.task.id, ENDED, outputs)
        self._outputs.append(output)
        return output

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
                await progress.save_skip(ENDED)
                self._context.emit(TaskSkipped, task_id=job.task.id, reason=ENDED)
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

    async def _find_skip(
        self,
        job: Assignment,
        outputs: tuple[TaskOutput, ...],
        outcomes: Mapping[str, TaskOutcome],
        progress: TaskProgress,
    ) -> SkippedTask | None:
        """Return a task as skipped if it is not to run. That is decided once, before the task starts."""
        if self._exit.reason is not None and progress.began is None:
            return SkippedTask(job.task.id, ENDED, outputs)
        if (reason := progress.skipped) is None:
            if progress.began is not None or job.task.id in self._failures:
                return None
            if (reason := self._find_reason_to_skip(job, outputs, outcomes)) is None:
                return None
            await progress.save_skip(reason)
            self._context.emit(TaskSkipped, task_id=job.task.id, reason=reason)
        return SkippedTask(job.task.id, reason, outputs)

    def _find_reason_to_skip(
        self, job: Assignment, outputs: tuple[TaskOutput, ...], outcomes: Mapping[str, TaskOutcome]
    ) -> str | None:
        if outcomes and not outputs and job.task.context:
            return "all its context tasks were skipped"
        if job.task.when is None or job.task.when(TaskOutputs(self._outputs)):
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
    job: Assignment, outcomes: Mapping[str, TaskOutcome], environment: TaskEnvironment
) -> tuple[TaskOutput, ...]:
    """Return the outputs that a task sees. In a sequence, a skipped task passes on those that it would have seen.

    A group of tasks chooses itself which outputs its tasks see.
    """
    named = [outcomes[other.id] for other in job.context if other.id in outcomes]
    if job.task.context is None and len(named) == 1 and isinstance(named[0], SkippedTask):
        outputs = named[0].context_outputs
    else:
        outputs = collect_context([other.id for other in job.context], named)
    if job.task.context is None and job.task.id in environment.first_ids:
        outputs = (*environment.entry, *outputs)
    if find_composite(job.task) is not None:
        return outputs
    return tuple(readable for output in outputs for readable in output.readable)


def _read_failures(context: RunContext) -> dict[str, str]:
    known = {} if context.checkpoint is None else context.checkpoint.data.get("failures")
    return {str(key): str(reason) for key, reason in known.items()} if isinstance(known, dict) else {}
