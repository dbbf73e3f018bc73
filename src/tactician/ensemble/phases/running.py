"""Runs of the phases of an ensemble: their graph on the scheduler, and their attempts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import cast

from tactician.ensemble.learning.outbox import LearningOutbox
from tactician.ensemble.phases.events import PhaseCompleted, PhaseResumed, PhaseReviewed, PhaseStarted
from tactician.ensemble.phases.plan import PhasePlan, PlannedPhase
from tactician.ensemble.phases.progress import PhaseExecution, PhaseProgress
from tactician.ensemble.phases.reviewing import decide
from tactician.ensemble.values.early_exit import ENDED, EarlyExit
from tactician.ensemble.values.errors import INTERRUPTIONS, PhaseReviewError, TaskFailedError
from tactician.ensemble.values.outcomes import SkippedTask, TaskOutcome
from tactician.ensemble.values.phase_decisions import PhaseDecision, UndecidedError
from tactician.ensemble.values.results import EnsembleResult, PhaseOutput
from tactician.ensemble.values.task_input import Revision
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import NO_LIMIT, TaskOrder, run_tasks
from tactician.ensemble.work.task_execution import record_failures
from tactician.grammar import format_count
from tactician.runs import RunContext, RunError, RunResult
from tactician.runs.outcomes.errors import is_final
from tactician.text import describe_error


class PhaseRuns:
    """Attempts at the phases in a run of an ensemble. What is completed is saved, and does not run again.

    Args:
        plan: the phases.
        environment: what the tasks begin with.
        context: the context of the run.
        exit: the early end of the run.
    """

    def __init__(self, plan: PhasePlan, environment: TaskEnvironment, context: RunContext, exit: EarlyExit) -> None:
        self._exit = exit
        self._plan = plan
        self._by_name = plan.by_name
        self._environment = environment
        self._context = context
        self._room = NO_LIMIT if plan.max_parallel is None else asyncio.Semaphore(plan.max_parallel)
        places = context.at("phases")
        self._progress = {planned.name: PhaseProgress(places.at(planned.name)) for planned in plan.phases}
        self._results: dict[tuple[str, int], EnsembleResult] = {}
        self._outboxes: dict[tuple[str, int], LearningOutbox] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failures: list[tuple[RunContext, TaskFailedError]] = []
        self._failed_reviews: dict[str, tuple[int, str]] = {}

    async def run(self, name: str) -> PhaseOutput:
        """Run a phase until its outputs are accepted, and return them.

        Raises:
            TaskFailedError: when a task of it or its review fails, or a phase that has to run again for it.
            Suspended: when tasks or reviews wait for answers.
        """
        progress = self._progress[name]
        if progress.accepted is None:
            if not progress.count and self._exit.reason is not None:
                return await self.collect(name)
            if not progress.count:
                self._begin(name)
            else:
                self._context.emit(PhaseResumed, phase=name)
            await self._complete(name, 1)
        elif self._environment.outbox.holds:
            await self._leave_again(name)
        return await self.collect(name)

    async def collect(self, name: str) -> PhaseOutput:
        """Return the latest accepted outputs of a phase; none of a phase that a review has ended before it began."""
        progress = self._progress[name]
        if progress.accepted is None:
            skipped = {job.task.id: ENDED for job in self._by_name[name].jobs}
            return PhaseOutput(name, (), "", skipped=skipped)
        result, execution = await self._perform(name, progress.accepted), progress[progress.accepted]
        return PhaseOutput(name, result.task_outputs, result.raw, execution.seconds, result.skipped, progress.record)

    def record_failures(self) -> None:
        """Record failed tasks and reviews, which do not run again when the run goes on after a suspension."""
        for place, error in self._failures:
            record_failures(place, error.failed)
        for name, (number, reason) in self._failed_reviews.items():
            self._progress[name].note_failed_review(number, reason)

    async def _complete(self, name: str, start: int) -> None:
        """Run a phase, beginning with execution `start`, until its outputs are accepted."""
        planned, progress = self._by_name[name], self._progress[name]
        while not progress[number := progress.find_last(start)].is_accepted:
            result = await self._perform(name, number)
            decision = progress[number].decision or await self._review(planned, number, result)
            has_ended = self._exit.reason is not None and decision.verdict != "reject"
            if decision.verdict == "approve" or has_ended:
                await self._outboxes[name, number].deliver()
                progress.accept(number)
                await progress.place.save_step("phase", name, result.raw)
                self._context.emit(PhaseCompleted, phase=name, attempt=number, seconds=progress[number].seconds)
                return
            self._check_decision(planned, number, decision, result)
            if decision.verdict == "retry_predecessor":
                assert decision.phase is not None
                await self._run_again(decision.phase, decision.feedback, f"{name}/{number}")
            self._begin(name, decision.feedback if decision.verdict == "retry" else "")

    async def _leave_again(self, name: str) -> None:
        """Leave in the outbox around what the accepted executions of a phase have left before the run continued."""
        for number in self._progress[name].list_accepted():
            await self._perform(name, number)
            await self._outboxes[name, number].deliver()

    async def _run_again(self, name: str, feedback: str, request: str) -> None:
        """Run a phase again because the review of another phase has asked for it."""
        progress = self._progress[name]
        async with self._locks[name]:
            start = progress.find_request(request)
            if start is None:
                start = self._begin(name, feedback, request)
            await self._complete(name, start)

    def _begin(self, name: str, feedback: str = "", request: str = "") -> int:
        predecessors = ((before, self._progress[before].accepted) for before in self._by_name[name].predecessors)
        used = {before: number for before, number in predecessors if number is not None}
        number = self._progress[name].begin(PhaseExecution(feedback, request, used))
        self._context.emit(PhaseStarted, phase=name, attempt=number)
        return number

    async def _perform(self, name: str, number: int) -> EnsembleResult:
        """Return the outputs of an execution. What is completed does not run again."""
        if (saved_result := self._results.get((name, number))) is not None:
            return saved_result
        planned, progress = self._by_name[name], self._progress[name]
        place = progress.at(number)
        order = TaskOrder(planned.jobs, planned.workflow, None, self._plan.on_error, self._plan.find_reviews(planned))
        inside = place if planned is self._plan.phases[-1] else place.as_internal()
        if planned.phase.review is not None:
            inside = inside.with_held_text(is_checked=True)
        try:
            result = await run_tasks(
                f"phase {name!r}",
                order,
                await self._create_environment(name, number),
                inside,
                room=self._room,
                exit=self._exit,
            )
        except TaskFailedError as error:
            self._failures.append((place, error))
            raise
        progress.complete(number, result.raw, result.duration)
        self._results[name, number] = result
        return result

    async def _create_environment(self, name: str, number: int) -> TaskEnvironment:
        """Return what the tasks of an execution begin with."""
        outcomes_by_task = {**self._environment.outcomes_by_task, **await self._collect_known(name, number)}
        revisions = await self._collect_revisions(name, number)
        is_reviewed, outer_outbox = self._by_name[name].phase.review is not None, self._environment.outbox
        outbox = self._outboxes[name, number] = LearningOutbox(holds=is_reviewed, around=outer_outbox)
        return replace(self._environment, outcomes_by_task=outcomes_by_task, revisions=revisions, outbox=outbox)

    async def _collect_known(self, name: str, number: int) -> dict[str, TaskOutcome]:
        """Return the outcomes of the phases before, as an execution sees them, by task id."""
        outcomes_by_task: dict[str, TaskOutcome] = {}
        for before, used in self._progress[name][number].used.items():
            outcomes_by_task |= list_outcomes(await self._perform(before, used))
        return outcomes_by_task

    async def _collect_revisions(self, name: str, number: int) -> dict[str, Revision]:
        """Return the revisions for the tasks of an execution: the feedback, and their outputs before."""
        progress = self._progress[name]
        feedback, previous = progress[number].feedback, progress.find_previous(number)
        if not feedback or previous is None:
            return {}
        outputs = (await self._perform(name, previous)).task_outputs
        return {output.task_id: Revision(number, feedback, output.raw) for output in outputs}

    async def _review(self, planned: PlannedPhase, number: int, result: EnsembleResult) -> PhaseDecision:
        """Return the decision on an execution, and save it."""
        if planned.phase.review is None or not result.task_outputs or self._exit.reason is not None:
            return PhaseDecision.approve()
        progress = self._progress[planned.name]
        if (failure := progress[number].review_failure) is not None:
            restored = RunError(failure, cast("RunResult[None]", result))
            restored.is_final = True
            raise self._create_error(planned, failure, result, restored)
        outcomes = await self._collect_known(planned.name, number) | list_outcomes(result)
        try:
            inside = progress.at(number).as_internal()
            reviewer = self._plan.reviewer
            answer = await decide(planned, outcomes, self._environment.input, inside, self._exit, reviewer)
        except INTERRUPTIONS:
            raise
        except Exception as error:
            is_undecided = isinstance(error, UndecidedError)
            reason = str(error) if is_undecided else f"its review failed: {describe_error(error)}"
            self._failed_reviews[planned.name] = number, reason
            raise self._create_error(planned, reason, result, error) from error
        decision = answer.value
        progress.decide(number, decision, answer.by)
        await progress.place.save_step("phase_review", planned.name, str(decision))
        self._context.emit(
            PhaseReviewed,
            phase=planned.name,
            attempt=number,
            decision=decision.verdict,
            feedback=decision.feedback,
            by=answer.by,
        )
        return decision

    def _check_decision(
        self, planned: PlannedPhase, number: int, decision: PhaseDecision, result: EnsembleResult
    ) -> None:
        """Raise an error when a decision ends the run, or all retries are used up."""
        progress, review = self._progress[planned.name], planned.phase.review
        assert review is not None
        if decision.verdict == "reject":
            raise self._create_error(planned, f"its review rejected it: {decision.feedback}", result)
        if decision.verdict == "retry":
            if progress.count_retries(number) >= review.max_retries:
                reason = (
                    f"its limit of {format_count(review.max_retries, 'retry')} is used up; "
                    f"the last feedback: {decision.feedback}"
                )
                raise self._create_error(planned, reason, result)
        elif progress.count_predecessor_retries(str(decision.phase)) > review.max_predecessor_retries:
            used = (
                f"the limit of {format_count(review.max_predecessor_retries, 'retry')} of the phase "
                f"before, {decision.phase!r}, is used up"
            )
            raise self._create_error(planned, f"{used}; the last feedback: {decision.feedback}", result)

    def _create_error(
        self, planned: PlannedPhase, reason: str, result: EnsembleResult, error: Exception | None = None
    ) -> PhaseReviewError:
        completed = {output.task_id: output for output in result.task_outputs}
        failed = {} if error is None or planned.reviewer is None else {planned.reviewer.task.id: error}
        record = self._progress[planned.name].record
        raised = PhaseReviewError(reason, result, completed, failed, {}, phase=planned.name, review=record)
        raised.is_final = error is None or is_final(error)
        return raised


def list_outcomes(result: EnsembleResult) -> dict[str, TaskOutcome]:
    """Return the outcomes of the tasks of a phase, by task id."""
    skipped = {task_id: SkippedTask(task_id, reason) for task_id, reason in result.skipped.items()}
    return skipped | {output.task_id: output for output in result.task_outputs}
