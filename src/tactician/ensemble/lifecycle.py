"""Lifecycle of a task: its steps, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from tactician.agents import Agent
from tactician.ensemble.assignment import Assignment
from tactician.ensemble.composite import find_composite
from tactician.ensemble.learning import AT_ONCE, LearningOutbox
from tactician.ensemble.output_creation import create_task_output
from tactician.ensemble.output_retries import run_with_output_retries
from tactician.ensemble.prompts import build_prompt
from tactician.ensemble.task_input import TaskInput
from tactician.ensemble.task_learning import TaskLearning
from tactician.ensemble.task_output import TaskOutput
from tactician.ensemble.task_progress import TaskProgress
from tactician.ensemble.task_reviews import EnsembleExit, RetryRequested, TaskReviews
from tactician.guardrails import (
    CheckedInput,
    CheckedOutput,
    Guardrail,
    GuardrailError,
    Objection,
    find_first_objection,
)
from tactician.llm import UserMessage
from tactician.runs import RepeatLimitError, RunContext, RunResult, RunStatus

T = TypeVar("T", bound=TaskOutput | None)
V = TypeVar("V")
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

    Args:
        job: the task.
        task: its input.
        place: the context of the task, whose checkpoint has the progress.
        progress: the progress.
        reviews: the reviews of the task.
        outbox: the outbox for what the task leaves for later runs.
    """

    __slots__ = ("_job", "_learning", "_outbox", "_place", "_progress", "_reviews", "_task")

    def __init__(
        self,
        job: Assignment,
        task: TaskInput,
        place: RunContext,
        progress: TaskProgress,
        reviews: TaskReviews,
        outbox: LearningOutbox = AT_ONCE,
    ) -> None:
        self._job = job
        self._reviews = reviews
        self._task = task
        self._place = place
        self._progress = progress
        model = job.runnable.model if isinstance(job.runnable, Agent) else job.model
        self._learning = TaskLearning(job.task, job.stores, model, place, outbox)
        self._outbox = outbox

    async def run(self) -> TaskOutput:
        """Do all steps, and return the output.

        Raises:
            EnsembleExit: when a review ends the ensemble.
            ReviewRejectedError: when nobody has decided in time, and that rejects the task.
            GuardrailError: when a guardrail stops the task.
            Exception: what the agent or the handler raised.
        """
        self._task = await self._learning.load(self._task)
        await self._reviews.review_task(self._task.description)
        await self._check_input()
        try:
            while (output := await self._attempt()) is None:
                pass
        except EnsembleExit as signal:
            raise EnsembleExit(signal.reason, self._finish(signal.output)) from signal
        await self._learning.keep(self._task, output)
        return self._finish(output)

    def _finish(self, output: T) -> T:
        """Return an output with the time of the end of the task."""
        if not isinstance(output, TaskOutput) or not self._is_followed:
            return output
        now = self._place.clock.time()
        duration = max(0.0, now - (self._progress.began or now))
        return replace(output, completed_at=datetime.fromtimestamp(now, UTC), duration=duration)

    @property
    def _is_followed(self) -> bool:
        """True when other steps follow on the output."""
        return self._job.is_examined or self._reviews.follow_output

    async def resume(self, output: TaskOutput) -> TaskOutput:
        """Return the saved output of the completed task, and leave again what it has left in an outbox."""
        restored = await self.restore(output)
        if restored is output and self._outbox.holds and find_composite(self._job.task) is not None:
            await self._work()  # the tasks inside leave theirs again
        await self._learning.keep_again(self._task, restored)
        return restored

    async def restore(self, output: TaskOutput) -> TaskOutput:
        """Return a saved output. An object that it lacks is in the saved run of its agent."""
        if output.parsed is not None or not self._progress.has_run:
            return output
        return output.with_result(await self._work(), is_typed=self._job.task.output_type is not None)

    async def _attempt(self) -> TaskOutput | None:
        """Return the output of an attempt; `None` when another attempt has to follow."""
        if self._progress.attempt > _MOST_ATTEMPTS:
            raise RepeatLimitError(
                f"{self._task.task_id!r}: no accepted output in {_MOST_ATTEMPTS} attempts", self._failed
            )
        output = await self._produce()
        if (objection := await self._check_output(output)) is not None:
            await self._begin_attempt(output, objection.reason)
            return None
        try:
            reviewed = await self._reviews.review_output(output, self._progress.attempt)
        except RetryRequested as request:
            await self._begin_attempt(output, request.feedback)
            return None
        if reviewed is not output:
            self._progress.note_run(has_run=False)  # the object is that of the reviewer, and not in the saved run
        return reviewed

    async def _begin_attempt(self, output: TaskOutput, feedback: str) -> None:
        assert self._place.checkpoint is not None
        self._outbox.withdraw(self._place.checkpoint.path)
        await self._progress.begin_attempt(output, feedback)

    async def _check_input(self) -> None:
        guardrails, step = self._job.task.guards.input.all, "input guardrails"
        if not guardrails or self._progress.is_done(step):
            return
        message = UserMessage(build_prompt(self._task, self._job.task.output_type, self._place))
        checked = CheckedInput((message,), (message,))
        if (objection := await self._find_objection(guardrails, checked)) is not None:
            raise self._create_error(objection)
        await self._progress.mark_done(step)

    async def _produce(self) -> TaskOutput:
        """Return the output of the agent or the handler."""
        if (draft := self._progress.draft) is not None:
            return await self.restore(draft)
        output = self._create_output(await self._work())
        self._progress.note_run(has_run=self._job.has_run(output))
        if self._is_followed:
            await self._progress.save_draft(output)
        return output

    async def _work(self) -> RunResult[object]:
        job, task = self._job, self._task
        if (revision := self._progress.revision) is not None:
            task = replace(task, revision=revision)
        number = self._progress.attempt
        place = self._place if number == 1 else self._place.at(f"attempt-{number}")
        if job.model is not None and not isinstance(job.runnable, Agent):  # an Agent has it among its settings
            place = place.with_model(*place.find_model(job.model))

        async def run(inside: RunContext) -> RunResult[object]:
            if job.task.handler is not None:
                return await job.runnable.run(task, context=inside)
            return await run_with_output_retries(job, build_prompt(task, job.task.output_type, inside), inside)

        return await self._reviews.run_with_reviewer(run, place)

    def _create_output(self, result: RunResult[object]) -> TaskOutput:
        is_typed, now = self._job.task.output_type is not None, self._place.clock.time()
        output = create_task_output(
            self._task, self._job.role, result, self._progress.began or now, now, is_typed=is_typed
        )
        if (earlier := self._progress.earlier) is None:
            return output
        used, calls = earlier.usage + output.usage, earlier.tool_calls + output.tool_calls
        return replace(output, usage=used, tool_calls=calls)

    async def _check_output(self, output: TaskOutput) -> Objection | None:
        """Return the objection of an output guardrail that asks for another attempt.

        Raises:
            GuardrailError: when a guardrail stops the task, or all attempts are used up.
        """
        guardrails, step = self._job.task.guards.output, f"output guardrails {self._progress.attempt}"
        if not guardrails or self._progress.is_done(step):
            return None
        value = output.raw if output.parsed is None else output.parsed
        objection = await self._find_objection(guardrails, CheckedOutput(output.raw, value))
        if objection is None:
            await self._progress.mark_done(step)
        elif not objection.wants_retry or self._progress.attempt > self._job.task.max_output_retries:
            raise self._create_error(objection)
        return objection

    async def _find_objection(self, guardrails: Sequence[Guardrail[V]], value: V) -> Objection | None:
        inside = self._place.as_internal()
        with inside.enter():
            return await find_first_objection(guardrails, value, inside)

    def _create_error(self, objection: Objection) -> GuardrailError:
        return objection.create_error(self._task.task_id, self._failed)

    @property
    def _failed(self) -> RunResult[None]:
        place = self._place
        return RunResult(None, RunStatus.FAILED, tally=place.tally, run_id=place.run_id)
