"""Execution of the tasks of a run of an ensemble."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Final

from tactician.ensemble.assignment import Assignment
from tactician.ensemble.early_exit import ENDED, EarlyExit
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import INTERRUPTIONS
from tactician.ensemble.learning import LearningOutbox
from tactician.ensemble.lifecycle import TaskLifecycle
from tactician.ensemble.outcomes import OutputPredicate, SkippedTask, TaskOutcome, TaskOutputs
from tactician.ensemble.predicates import evaluate_predicate
from tactician.ensemble.results import EnsembleResult, ExitReason
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
    Checkpoint,
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

    __slots__ = ("_context", "_environment", "_exit", "_failures", "_outputs", "_tasks")

    def __init__(self, environment: TaskEnvironment, context: RunContext, exit: EarlyExit | None = None) -> None:
        self._environment = environment
        assert context.checkpoint is not None
        self._context = context
        self._tasks = context.checkpoint.at("tasks")
        self._failures = _read_failures(self._tasks)
        self._exit = EarlyExit(context) if exit is None else exit
        known = [outcome for outcome in environment.known.values() if isinstance(outcome, TaskOutput)]
        self._outputs: list[TaskOutput] = [*known, *environment.earlier]

    def record_failures(self, failed: Mapping[str, Exception]) -> None:
        """Record failed tasks, which do not run again when the run goes on after a suspension."""
        if failed:
            known = {task_id: describe_error(error) for task_id, error in failed.items()}
            self._tasks.set(failures=self._failures | known)

    def run(self, plan: TaskPlan, outcomes: Mapping[str, TaskOutcome]) -> Awaitable[TaskOutcome]:
        """Do a task when the result is awaited, and return its outcome.

        Args:
            plan: the task.
            outcomes: the outcomes of its context tasks, by their ids.

        Raises:
            RunError: when the task failed before a suspension, or a limit of the run is reached.
            Exception: any that its agent or handler raised.
        """
        job, place, environment = plan.job, self._find_place(plan), self._environment
        progress = TaskProgress(job, place, environment.find_revision(job.task.id))
        if environment.known:
            outcomes = {**environment.known, **outcomes}
        outputs = _find_context(plan, outcomes, environment)
        if (reason := self._find_reason_to_skip(plan, outputs, outcomes, progress)) is not None:
            skipped = SkippedTask(job.task.id, reason, outputs)
            return _give(skipped) if reason == ENDED else self._skip(skipped, progress)  # the end is saved with the run
        if job.task.when is None or progress.began is not None or job.task.id in self._failures:
            return self._begin_or_restore(plan, outputs, place, progress)
        return self._run_if(job.task.when, plan, outputs, place, progress)

    def _begin_or_restore(
        self, plan: TaskPlan, outputs: tuple[TaskOutput, ...], place: RunContext, progress: TaskProgress
    ) -> Awaitable[TaskOutcome]:
        job = plan.job
        execution = TaskExecution(job, self._fill_in(job, outputs), place, progress, self._environment.outbox)
        lifecycle = TaskLifecycle(plan, execution)
        if progress.is_completed and (saved := progress.output) is not None:
            return self._restore(lifecycle, saved)
        return self._perform(execution, lifecycle)

    async def _run_if(
        self,
        condition: OutputPredicate,
        plan: TaskPlan,
        outputs: tuple[TaskOutput, ...],
        place: RunContext,
        progress: TaskProgress,
    ) -> TaskOutcome:
        """Do a task if its condition holds."""
        task_id, known = plan.job.task.id, TaskOutputs(self._outputs)
        failed = EnsembleResult.create(known.outputs, None, self._context, 0.0, exit_reason=ExitReason.FAILED)
        if not await evaluate_predicate(condition, known, f"task {task_id!r}: its `when`", failed, place):
            return await self._skip(SkippedTask(task_id, "its condition `when` does not hold", outputs), progress)
        if self._exit.reason is not None:
            return SkippedTask(task_id, ENDED, outputs)
        return await self._begin_or_restore(plan, outputs, place, progress)

    def _find_place(self, plan: TaskPlan) -> RunContext:
        """Return the context of a task; the tasks inside a task find there how the ensemble reviews and ends."""
        place = self._context.inside_part(self._tasks.at(plan.job.key), is_internal=not plan.is_last)
        if not plan.is_composite:
            return place
        outbox = self._environment.outbox
        return place.inside({ReviewSettings: plan.reviews, EarlyExit: self._exit, LearningOutbox: outbox})

    async def _restore(self, lifecycle: TaskLifecycle, saved: TaskOutput) -> TaskOutput:
        """Return the saved output of a task."""
        output = await lifecycle.resume(saved)
        self._report_restored(output)
        self._outputs.append(output)
        return output

    async def _perform(self, execution: TaskExecution, lifecycle: TaskLifecycle) -> TaskOutcome:
        """Do a task, and save and return its output, unless a review has ended the ensemble before it."""
        job, progress = execution.job, execution.progress
        if (failure := self._failures.get(job.task.id)) is not None:
            raise RunError(failure, self._create_failed_result())
        self._begin(job, progress)
        try:
            output = await lifecycle.run()
        except EnsembleExit as signal:
            self._exit.request(signal.reason)
            if signal.output is None:
                return await self._skip(SkippedTask(job.task.id, ENDED, execution.input.context_outputs), progress)
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
        self._context.emit(
            TaskCompleted,
            task_id=output.task_id,
            role=output.role,
            raw=output.raw,
            seconds=output.duration,
            tool_calls=output.tool_calls,
        )
        self._outputs.append(output)
        return output

    async def _skip(self, skipped: SkippedTask, progress: TaskProgress) -> SkippedTask:
        """Save that a task is skipped. That is decided once."""
        if progress.skipped is None:
            await progress.save_skip(skipped.reason)
            self._context.emit(TaskSkipped, task_id=skipped.task_id, reason=skipped.reason)
        return skipped

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
        return None

    def _begin(self, job: Assignment, progress: TaskProgress) -> None:
        if progress.began is not None:
            self._context.emit(TaskResumed, task_id=job.task.id, role=job.role)
            return
        if (limit := self._context.find_limit()) is not None:
            raise BudgetError(f"task {job.task.id!r}: {limit}", self._create_failed_result())
        progress.begin(self._context.services.clock.time())
        self._context.emit(TaskStarted, task_id=job.task.id, role=job.role)

    def _fill_in(self, job: Assignment, outputs: tuple[TaskOutput, ...]) -> TaskInput:
        task, environment = job.task, self._environment
        values, is_first = environment.input.values, task.id in environment.first_ids
        return TaskInput(
            task.id,
            fill_template(task.description, values),
            fill_template(task.expected_output, values) if task.expected_output else "",
            outputs,
            values,
            environment.input.text if is_first else "",
            earlier_outputs=() if task.memory else environment.earlier,
            forgotten_outputs=environment.forgotten,
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


async def _give(skipped: SkippedTask) -> SkippedTask:
    return skipped


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


def _read_failures(place: Checkpoint) -> dict[str, str]:
    known = place.data.get("failures")
    return {str(key): str(reason) for key, reason in known.items()} if isinstance(known, dict) else {}
