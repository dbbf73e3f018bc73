"""Workflow of a run: it decides when the next step is due, and knows nothing of its work.

Temporal replays this module in a sandbox: it is deterministic, and imports nothing heavy.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import field, replace
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

from tactician.frozen import frozen
from tactician.integrations.step_report import StepReport

STEP, KILL, PAUSED = "tactician-step", "tactician-kill", "tactician-paused"
_PERMANENT_ERRORS = ["RunNotFoundError", "StoredStateError"]


@frozen
class WorkflowInput:
    """Input of the workflow of a run.

    Attributes:
        run_id: id of the run.
        heartbeat: seconds without a heartbeat of a worker, after which another worker takes the step over.
        step_timeout: seconds that a step may take.
        report: report of the run.
        answered: ids of requests whose answers are in the store.
    """

    run_id: str
    heartbeat: float
    step_timeout: float
    report: StepReport = field(default_factory=lambda: StepReport("running"))
    answered: list[str] = field(default_factory=list)


@workflow.defn(name="tactician-run")
class RunWorkflow:
    """Workflow that runs the steps of a run until it ends."""

    @workflow.init
    def __init__(self, input: WorkflowInput) -> None:
        self._input = input
        self._report = input.report
        self._is_paused = False
        self._is_killed = False
        self._answered = list(input.answered)
        self._taken: list[str] = []
        self._running: asyncio.Future[StepReport] | None = None

    @workflow.run
    async def run(self, input: WorkflowInput) -> str:
        """Run the steps, and return the final status of the run."""
        try:
            while not self._has_ended:
                await self._continue()
        except (asyncio.CancelledError, ActivityError) as error:
            # A cancellation that is not ours comes from Temporal's tools and is the workflow's: the same as a kill.
            self._is_killed = self._is_killed or is_cancelled_exception(error)
            if not self._is_killed:
                raise
        if self._is_killed:
            await self._end()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._report.status

    @workflow.signal
    def note_answer(self, request_id: str) -> None:
        """Note that an answer to the request is in the store."""
        self._answered.append(request_id)

    @workflow.signal
    def pause(self) -> None:
        """Pause before the next step, until `resume`."""
        self._set_paused(True)

    @workflow.signal
    def resume(self) -> None:
        """Continue after `pause`."""
        self._set_paused(False)

    @workflow.signal
    def kill(self) -> None:
        """End the run for good, and interrupt the step that runs."""
        self._is_killed = True
        if self._running is not None:
            self._running.cancel()

    @workflow.update
    async def is_valid(self, request_id: str) -> bool:
        """Return whether a step accepted the answer to a request; `True` when no step takes it for now."""
        await workflow.wait_condition(lambda: request_id not in (*self._answered, *self._taken) or self._is_idle)
        return request_id not in self._report.refused

    @workflow.update
    async def wait_for_step(self) -> None:
        """Wait for the end of the current step."""
        running = self._running
        await workflow.wait_condition(lambda: self._running is not running or running is None)

    @workflow.query
    def status(self) -> str:
        """Return the status of the run."""
        return "paused" if self._is_paused and self._running is None and not self._has_ended else self._report.status

    @workflow.query
    def pending(self) -> list[str]:
        """Return the ids of the requests that nobody has answered."""
        return self._report.pending

    def _set_paused(self, is_paused: bool) -> None:
        if is_paused is not self._is_paused:
            self._is_paused = is_paused
            workflow.upsert_memo({PAUSED: is_paused})  # can be read when no worker runs, unlike a query

    @property
    def _has_ended(self) -> bool:
        return self._report.has_ended or self._is_killed

    @property
    def _is_idle(self) -> bool:
        return self._has_ended or (self._is_paused and self._running is None)

    @property
    def _can_continue(self) -> bool:
        if self._is_paused or self._is_killed:
            return self._is_killed
        return not self._report.pending or bool(self._answered) or self._is_due

    @property
    def _is_due(self) -> bool:
        return self._report.wakes_at is not None and self._report.wakes_at <= workflow.time()

    async def _continue(self) -> None:
        """Wait until the next step is due, and run it."""
        while not self._can_continue:
            await self._wait()
        if self._is_killed:
            return
        await self._make_step()
        if (delay := self._report.delay) and not self._has_ended and not self._report.pending:
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: self._is_killed, timeout=delay)
        await self._shorten_history()

    async def _wait(self) -> None:
        """Wait until the next step is due, or until the run is paused, or no longer paused."""
        was_paused = self._is_paused
        wakes_at = None if was_paused else self._report.wakes_at
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._can_continue or self._is_paused is not was_paused,
                timeout=None if wakes_at is None else max(0.0, wakes_at - workflow.time()),
            )

    async def _make_step(self) -> None:
        self._taken, self._answered = self._answered, []
        self._running = workflow.start_activity(
            STEP,
            args=[self._input.run_id, workflow.time()],
            result_type=StepReport,
            start_to_close_timeout=timedelta(seconds=self._input.step_timeout),
            heartbeat_timeout=timedelta(seconds=self._input.heartbeat),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            retry_policy=self._retry_policy,
        )
        try:
            self._report = await self._running
        finally:
            self._running, self._taken = None, []

    async def _end(self) -> None:
        self._report = await workflow.execute_activity(
            KILL,
            self._input.run_id,
            result_type=StepReport,
            start_to_close_timeout=timedelta(seconds=self._input.heartbeat),
            retry_policy=self._retry_policy,
        )

    @property
    def _retry_policy(self) -> RetryPolicy:
        """The policy for failures of the infrastructure, such as a store that does not answer."""
        longest = timedelta(seconds=max(1.0, self._input.heartbeat))
        return RetryPolicy(maximum_interval=longest, non_retryable_error_types=_PERMANENT_ERRORS)

    async def _shorten_history(self) -> None:
        """Start again with an empty history when Temporal suggests it. All other state is in the store."""
        if not workflow.info().is_continue_as_new_suggested():
            return
        await workflow.wait_condition(lambda: workflow.all_handlers_finished() or bool(self._answered))
        if workflow.all_handlers_finished() and not self._has_ended and not self._is_paused:
            workflow.continue_as_new(replace(self._input, report=self._report, answered=self._answered))
