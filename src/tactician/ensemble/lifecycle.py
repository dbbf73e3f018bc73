"""Lifecycle of a task: its steps, in their order."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from tactician.ensemble.output_creation import create_task_output, restore_object
from tactician.ensemble.task_execution import TaskExecution
from tactician.ensemble.task_learning import learn_again
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_plan import TaskPlan
from tactician.ensemble.task_signals import EnsembleExit, RetryRequested
from tactician.runs import RepeatLimitError, RunResult

_MOST_ATTEMPTS: Final = 100


class TaskLifecycle:
    """Steps of a task in a run, in their order; each is done once, also when the run continues elsewhere.

    1. What earlier runs have left: entries of the memory, and reflections.
    2. The review before.
    3. Input guardrails.
    4. The attempt: the prompt, and the agent or the handler, whose output is validated as the output type. Its
       questions and approvals go to the reviewer first.
    5. Output guardrails. A guardrail that asks for a retry leads to another attempt.
    6. The review after. It may edit the output, ask for another attempt, or end the ensemble.
    7. What later runs read: the output in the memory, and a reflection on it.

    The plan of the task has those that it needs; all but the attempt are optional.

    Args:
        plan: the plan of the task.
        execution: its input and its progress in the run.
    """

    __slots__ = ("_execution", "_plan")

    def __init__(self, plan: TaskPlan, execution: TaskExecution) -> None:
        self._plan = plan
        self._execution = execution

    async def run(self) -> TaskOutput:
        """Do all steps, and return the output.

        Raises:
            EnsembleExit: when a review ends the ensemble.
            ReviewRejectedError: when nobody has decided in time, and that rejects the task.
            GuardrailError: when a guardrail stops the task.
            Exception: any that the agent or the handler raised.
        """
        plan, execution = self._plan, self._execution
        for prepare in plan.preparations:
            await prepare(execution)
        if not plan.is_followed:
            return self._create_output(await self._work())
        output = await self._attempt()
        while (accepted := await self._check(output)) is None:
            output = await self._attempt()
        for conclude in plan.conclusions:
            await conclude(execution, accepted)
        return self._finish(accepted)

    async def resume(self, output: TaskOutput) -> TaskOutput:
        """Return the saved output of the completed task, and leave again what it has left in an outbox."""
        restored, execution = await self.restore(output), self._execution
        if restored is output and self._plan.is_composite and execution.outbox.holds:
            await self._work()  # the tasks inside leave theirs again
        await learn_again(execution, restored)
        return restored

    async def restore(self, output: TaskOutput) -> TaskOutput:
        """Return a saved output. An object that it lacks is in the saved run of its agent."""
        if output.parsed is not None or not self._execution.progress.has_run:
            return output
        return restore_object(output, await self._work(), is_typed=self._execution.job.task.output_type is not None)

    async def _attempt(self) -> TaskOutput:
        """Return the output of an attempt, which is saved for the steps that follow on it."""
        progress = self._execution.progress
        if (draft := progress.draft) is not None:
            return await self.restore(draft)
        output = self._create_output(await self._work())
        await progress.save_draft(output)
        return output

    def _work(self) -> Awaitable[RunResult[object]]:
        progress, task, place = self._execution.progress, self._execution.input, self._execution.place
        if (revision := progress.revision) is not None:
            task = replace(task, revision=revision)
        if progress.attempt > 1:
            place = place.at(f"attempt-{progress.attempt}")
        return self._plan.work(task, place)

    async def _check(self, output: TaskOutput) -> TaskOutput | None:
        """Return the output that counts; `None` when another attempt has to follow."""
        progress, checked = self._execution.progress, output
        try:
            for check in self._plan.checks:
                checked = await check(self._execution, checked)
        except RetryRequested as request:
            if progress.attempt >= _MOST_ATTEMPTS:
                problem = f"no accepted output in {_MOST_ATTEMPTS} attempts"
                message = f"{self._execution.input.task_id!r}: {problem}"
                raise RepeatLimitError(message, self._execution.create_failed_result()) from request
            self._execution.withdraw()
            await progress.begin_attempt(output, request.feedback)
            return None
        except EnsembleExit as signal:
            raise EnsembleExit(signal.reason, self._finish(output)) from signal
        if checked is not output:
            progress.note_run(has_run=False)  # the object is that of the reviewer, and not in the saved run
        return checked

    def _create_output(self, result: RunResult[object]) -> TaskOutput:
        execution, progress = self._execution, self._execution.progress
        job, now = execution.job, execution.place.services.clock.time()
        began, is_typed = progress.began or now, job.task.output_type is not None
        output = create_task_output(execution.input, job.role, result, began, now, is_typed=is_typed)
        if (has_run := job.has_run(output)) is not progress.has_run:
            progress.note_run(has_run=has_run)
        if progress.attempt == 1 or (earlier := progress.earlier) is None:
            return output
        used, calls = earlier.usage + output.usage, earlier.tool_calls + output.tool_calls
        return replace(output, usage=used, tool_calls=calls)

    def _finish(self, output: TaskOutput) -> TaskOutput:
        """Return an output on which other steps followed with the time of the end of the task."""
        now = self._execution.place.clock.time()
        duration = max(0.0, now - (self._execution.progress.began or now))
        return replace(output, completed_at=datetime.fromtimestamp(now, UTC), duration=duration)
