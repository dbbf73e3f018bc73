"""Execution of the tasks of a run of an ensemble."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from itertools import chain

from tactician.ensemble.values.early_exit import ENDED
from tactician.ensemble.values.errors import INTERRUPTIONS
from tactician.ensemble.values.outcomes import OutputPredicate, SkippedTask, TaskOutcome, TaskOutputs
from tactician.ensemble.values.predicates import evaluate_predicate
from tactician.ensemble.values.results import EnsembleResult, ExitReason
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.lifecycle import perform_task, restore_task, skip_task
from tactician.ensemble.work.task_execution import TaskExecution, TaskPlan, TasksRun
from tactician.flow.steps import StepFailed, StepSkipped, StepSuspended


class TaskRunner(TasksRun):
    """Runner of the tasks in a run of an ensemble. A completed task is saved, and does not run again."""

    __slots__ = ()

    def run(self, plan: TaskPlan) -> Awaitable[TaskOutcome]:
        """Do a task when the result is awaited, and return its outcome.

        Raises:
            RunError: when the task failed before a suspension, or a limit of the run is reached.
            Exception: any that its agent, its handler or its condition raised.
        """
        execution, outputs = TaskExecution(plan, self), self._find_context(plan)
        if (reason := self._find_reason_to_skip(execution, outputs)) is not None:
            return self._skip(SkippedTask(plan.key, reason, outputs), execution)
        condition = plan.job.task.when
        if condition is None or execution.began is not None or plan.key in self.failures:
            return self._start(execution, outputs)
        return self._run_if(condition, execution, outputs)

    async def _run_if(
        self, condition: OutputPredicate, execution: TaskExecution, outputs: tuple[TaskOutput, ...]
    ) -> TaskOutcome:
        """Do a task if its condition holds."""
        task_id, task_outputs = execution.plan.key, TaskOutputs(self._list_outputs())
        subject = f"task {task_id!r}: its `when`"
        failed = EnsembleResult.create(task_outputs.outputs, None, self.context, 0.0, exit_reason=ExitReason.FAILED)
        reason = None
        if not await evaluate_predicate(condition, task_outputs, subject, failed, execution.place):
            reason = "its condition `when` does not hold"
        elif self.exit.reason is not None:
            reason = ENDED
        if reason is not None:
            return await self._skip(SkippedTask(task_id, reason, outputs), execution)
        return await self._start(execution, outputs)

    def _start(self, execution: TaskExecution, outputs: tuple[TaskOutput, ...]) -> Awaitable[TaskOutcome]:
        """Do a task that sees these outputs, or return its saved output, when the result is awaited."""
        plan, environment = execution.plan, self.environment
        values, text = environment.input.values, environment.input.text
        execution.input = TaskInput(
            plan.key,
            plan.description.fill(values),
            plan.expected_output.fill(values) if plan.job.task.expected_output else "",
            outputs,
            values,
            text if text and plan.key in environment.first_ids else "",
            self.revisions.get(plan.key),
            () if plan.job.task.memory else environment.earlier,
            environment.forgotten,
            shows_text=environment.input.shows_text,
        )
        if execution.is_completed and (saved := execution.output) is not None:
            return restore_task(execution, saved)
        if plan.key in self.failures:
            raise execution.restore_failure()
        return perform_task(execution)

    def _find_context(self, plan: TaskPlan) -> tuple[TaskOutput, ...]:
        """Return the outputs that a task sees. In a sequence, a skipped task passes on those that it would have seen.

        A group of tasks chooses itself which outputs its tasks see.
        """
        outputs: list[TaskOutput] = []
        environment = self.environment
        if environment.entry and plan.job.task.context is None and plan.key in environment.first_ids:
            outputs += environment.entry
        for name in plan.context_ids:
            outcome = self.outcomes.get(name) or environment.outcomes_by_task.get(name)
            if isinstance(outcome, TaskOutput):
                outputs.append(outcome)
            elif outcome is not None and plan.follows_one:
                outputs += outcome.context_outputs
        if not outputs or plan.is_composite:
            return tuple(outputs)
        shown: list[TaskOutput] = []
        for output in outputs:
            shown += output.readable if output.shown else (output,)
        return tuple(shown)

    def _find_reason_to_skip(self, execution: TaskExecution, outputs: tuple[TaskOutput, ...]) -> str | None:
        """Return why a task is not to run; `None` when it runs, or has begun to."""
        if execution.began is not None or execution.skipped is not None:
            return execution.skipped
        if self.exit.reason is not None:
            return ENDED
        plan = execution.plan
        if not outputs and plan.job.task.context and plan.key not in self.failures and self._knows_context(plan):
            return "all its context tasks were skipped"
        return None

    def _knows_context(self, plan: TaskPlan) -> bool:
        """Return whether the context tasks of a task have ended, as far as they are known."""
        return bool(self.environment.outcomes_by_task) or any(name in self.outcomes for name in plan.depends_on)

    def _list_outputs(self) -> Iterator[TaskOutput]:
        """Yield the outputs so far, in the order in which the tasks ended."""
        environment = self.environment
        all_outcomes = chain(environment.outcomes_by_task.values(), environment.earlier, self.outcomes.values())
        return (outcome for outcome in all_outcomes if isinstance(outcome, TaskOutput))

    def _skip(self, skipped: SkippedTask, execution: TaskExecution) -> Awaitable[SkippedTask]:
        if skipped.reason != ENDED:
            return skip_task(skipped, execution)
        self.outcomes[skipped.task_id] = skipped  # the end is saved with the run
        return _give(skipped)

    def note_end(self, end: StepFailed | StepSkipped | StepSuspended) -> None:
        """Note the end of a task without an outcome.

        Raises:
            TacticianError: the error of a run that was interrupted.
        """
        if isinstance(end, StepSkipped):
            self.skipped[end.key] = end.reason
        elif isinstance(end, StepSuspended):
            self.skipped[end.key] = "it waits for an answer"
        elif isinstance(end.error, INTERRUPTIONS) or not isinstance(end.error, Exception):
            raise end.error
        else:
            self.failed[end.key] = end.error


async def _give(skipped: SkippedTask) -> SkippedTask:
    return skipped
