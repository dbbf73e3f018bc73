"""Execution of the tasks of one run of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from tactician.agents import Agent
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.composite import find_composite
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.events import TaskCompleted, TaskFailed, TaskStarted
from tactician.ensemble.output import (
    TaskInput,
    TaskOutput,
    create_task_output,
    decode_task_output,
    encode_task_output,
)
from tactician.ensemble.prompts import build_prompt
from tactician.ensemble.template import fill_template
from tactician.errors import LeaseLostError, StoreError
from tactician.runs import (
    BudgetError,
    Live,
    RunContext,
    RunError,
    RunKilledError,
    RunResult,
    RunStatus,
    revive,
)
from tactician.text import describe_error

INTERRUPTIONS: Final = (LeaseLostError, StoreError, RunKilledError)
"""Errors that are not those of a task: the run continues elsewhere, or nowhere."""


class TaskRunner:
    """Runner of the tasks in one run of an ensemble. A completed task is saved, and does not run again.

    Args:
        environment: what the tasks begin with.
        last_id: id of the task whose output is that of the ensemble.
        context: the context of the run.
    """

    __slots__ = ("_context", "_environment", "_failures", "_internal", "_last_id")

    def __init__(self, environment: TaskEnvironment, last_id: str, context: RunContext) -> None:
        self._environment = environment
        self._last_id = last_id
        self._context = context.at("tasks")
        self._internal = self._context.as_internal()
        self._failures = _read_failures(self._context)

    def record_failures(self, failed: Mapping[str, Exception]) -> None:
        """Record failed tasks, which do not run again when the run goes on after a suspension."""
        if failed and self._context.checkpoint is not None:
            known = {task_id: describe_error(error) for task_id, error in failed.items()}
            self._context.checkpoint.set(failures=self._failures | known)

    async def run(self, job: Assignment, outputs: Mapping[str, TaskOutput]) -> TaskOutput:
        """Return the output of a task, given those of its context tasks.

        Raises:
            RunError: when the task failed before a suspension, or a limit of the run is reached.
            Exception: what its agent or handler raised.
        """
        place = (self._context if job.task.id == self._last_id else self._internal).at(job.key)
        assert place.checkpoint is not None
        if "output" in place.checkpoint.data:
            return await self._restore(job, outputs, place)
        if (failure := self._failures.get(job.task.id)) is not None:
            raise RunError(failure, self._create_failed_result())
        began = self._begin(job, place)
        task = self._fill_in(job, outputs)
        try:
            result = await self._work(job, task, place)
        except INTERRUPTIONS:
            raise
        except Exception as error:
            self._context.emit(TaskFailed, task_id=task.task_id, role=job.role, error=describe_error(error))
            raise
        is_typed, now = job.task.output_type is not None, self._context.clock.time()
        output = create_task_output(task, job.role, result, began, now, is_typed=is_typed)
        await self._save(job, output, place)
        return output

    async def _restore(self, job: Assignment, outputs: Mapping[str, TaskOutput], place: RunContext) -> TaskOutput:
        """Return the saved output of a task. An object that it lacks is in the saved run of its agent."""
        assert place.checkpoint is not None
        saved = place.checkpoint.data
        output = revive(saved["output"], partial(decode_task_output, kind=job.output_kind))
        if output.parsed is not None or not saved.get("has_run"):
            return output
        result = await self._work(job, self._fill_in(job, outputs), place)
        return output.with_result(result, is_typed=job.task.output_type is not None)

    def _begin(self, job: Assignment, place: RunContext) -> float:
        """Return the time at which the task started, in this run of the program or in an earlier one."""
        assert place.checkpoint is not None
        began = place.checkpoint.data.get("began")
        if isinstance(began, float):
            return began
        if (limit := place.find_limit()) is not None:
            raise BudgetError(f"task {job.task.id!r}: {limit}", self._create_failed_result())
        now = self._context.clock.time()
        place.checkpoint.set(began=now)
        self._context.emit(TaskStarted, task_id=job.task.id, role=job.role)
        return now

    def _fill_in(self, job: Assignment, outputs: Mapping[str, TaskOutput]) -> TaskInput:
        task, environment = job.task, self._environment
        values, is_first = environment.input.values, task.id in environment.first_ids
        return TaskInput(
            task.id,
            fill_template(task.description, values),
            fill_template(task.expected_output, values),
            self._collect_context(job, outputs),
            values,
            environment.input.text if is_first else "",
            environment.revisions.get(task.id),
            environment.earlier,
        )

    def _collect_context(self, job: Assignment, outputs: Mapping[str, TaskOutput]) -> tuple[TaskOutput, ...]:
        """Return the outputs that a task sees. A task that other tasks do chooses itself what these see."""
        environment = self._environment
        named = [outputs.get(other.id) or environment.given[other.id] for other in job.context]
        entry = environment.entry if job.task.context is None and job.task.id in environment.first_ids else ()
        if find_composite(job.task) is not None:
            return *entry, *named
        return *entry, *(readable for output in named for readable in output.readable)

    async def _work(self, job: Assignment, task: TaskInput, place: RunContext) -> RunResult[object]:
        if job.model is not None and not isinstance(job.runnable, Agent):  # an Agent has it among its settings
            place = place.with_model(*place.find_model(job.model))
        is_handler = job.task.handler is not None
        return await job.runnable.run(task if is_handler else build_prompt(task, job.task.output_type), context=place)

    async def _save(self, job: Assignment, output: TaskOutput, place: RunContext) -> None:
        assert place.checkpoint is not None
        has_run = bool(output.parts) or (job.task.handler is None and output.parsed is not None)
        encode = partial(encode_task_output, kind=job.output_kind, may_omit=has_run)
        live = Live.create(output, encode, is_saved=place.is_saved)
        place.checkpoint.set(output=live, has_run=has_run)
        await place.save_step("task", output.task_id, output.raw)
        self._context.emit(
            TaskCompleted,
            task_id=output.task_id,
            role=output.role,
            raw=output.raw,
            seconds=output.duration,
            tool_calls=output.tool_calls,
        )

    def _create_failed_result(self) -> RunResult[None]:
        return RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)


def _read_failures(context: RunContext) -> dict[str, str]:
    known = {} if context.checkpoint is None else context.checkpoint.data.get("failures")
    return {str(key): str(reason) for key, reason in known.items()} if isinstance(known, dict) else {}
