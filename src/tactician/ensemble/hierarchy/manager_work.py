"""Work of a manager in a run: attempts at the answer, which is reviewed as the output of the last task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from tactician.agents import Agent
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.output_creation import create_task_output
from tactician.ensemble.values.task_input import Revision, TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import fill_template
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.reviewed_work import work_with_reviewer
from tactician.ensemble.work.task_reviews import ReviewSettings, find_task_gate
from tactician.ensemble.work.task_signals import RetryRequested
from tactician.runs import RepeatLimitError, RunContext, RunResult, RunStatus

_MOST_ATTEMPTS: Final = 100


class ManagerWork:
    """Attempts of a manager at its answer. What is done is not done again when the run continues elsewhere.

    Args:
        manager: the manager.
        job: the last task, whose output the answer is.
        role: the role of the manager.
        input: the input of the run.
        settings: the settings of the ensemble for reviews.
        context: the context of the run.
        is_checked: true when the `check` of an answer may refuse it.
    """

    def __init__(
        self,
        manager: Agent[object],
        job: Assignment,
        role: str,
        input: EnsembleInput,
        settings: ReviewSettings,
        context: RunContext,
        *,
        is_checked: bool = False,
    ) -> None:
        last = job.task
        self._manager = manager
        self._role = role
        self._is_typed = last.output_type is not None
        self._task = TaskInput(last.id, fill_template(last.description, input.values))
        manager_job = replace(job, runnable=manager, role=role)
        self._before = find_task_gate("before", manager_job, settings, is_last=True)
        self._after = find_task_gate("after", manager_job, settings, is_last=True)
        self._is_checked = is_checked or self._after is not None or self._is_typed
        self._reviewer = settings.reviewer
        self._context = context

    async def answer(
        self,
        write_prompt: Callable[[Revision | None], str],
        check: Callable[[], None],
        began: float,
        revision: Revision | None = None,
    ) -> TaskOutput:
        """Return the answer that counts.

        Args:
            write_prompt: function that returns the prompt of an attempt.
            check: function that raises an error when the answer cannot be accepted whatever it is.
            began: the time at which the run began.
            revision: the feedback with which the first attempt begins.

        Raises:
            EnsembleExit: when a review ends the ensemble.
            ReviewRejectedError: when nobody has decided in time, and that rejects the answer.
            Exception: any that the manager raised.
        """
        if self._before is not None:
            await self._before.review_task(self._task.description, self._context)
        earlier: TaskOutput | None = None
        for number in range(1, _MOST_ATTEMPTS + 1):
            result = await self._run(write_prompt(revision), number)
            check()
            output = self._create_output(result, began, earlier)
            if self._after is None:
                return output
            try:
                return await self._after.review_output(output, number, self._context)
            except RetryRequested as request:
                earlier = output
                revision = Revision(number + 1, request.feedback, output.raw)
        failed = RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)
        raise RepeatLimitError(f"{self._task.task_id!r}: no accepted answer in {_MOST_ATTEMPTS} attempts", failed)

    async def _run(self, prompt: str, number: int) -> RunResult[object]:
        def work(_: TaskInput, inside: RunContext) -> Awaitable[RunResult[object]]:
            return self._manager.run(prompt, context=inside)

        place = self._context.at("manager" if number == 1 else f"manager-{number}")
        if self._is_checked:
            place = place.with_held_text(is_checked=True)
        if self._reviewer is None:
            return await work(self._task, place)
        return await work_with_reviewer(work, self._reviewer, self._task, place)

    def _create_output(self, result: RunResult[object], began: float, earlier: TaskOutput | None) -> TaskOutput:
        now = self._context.clock.time()
        output = create_task_output(self._task, self._role, result, began, now, self._is_typed)
        if earlier is None:
            return output
        calls = earlier.tool_calls + output.tool_calls
        return replace(output, usage=earlier.usage + output.usage, tool_calls=calls)
