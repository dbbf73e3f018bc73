"""The workflow of a process: it knows when the next step is due, and nothing of what the step does.

Temporal replays this module in a sandbox: it is deterministic, and imports nothing heavy.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

from tactician.integrations.standing import Standing

STEP, KILL, PAUSED = "tactician-step", "tactician-kill", "tactician-paused"
_PERMANENT = ["RunNotFoundError", "StoredStateError"]


@dataclass(frozen=True, slots=True)
class Driven:
    """A process, and how its workflow runs it.

    Attributes:
        process_id: the process.
        heartbeat: seconds without a sign of life of a worker, after which another takes the step over.
        step_timeout: seconds that a step may take.
        delay: seconds between two steps.
        standing: how the process stands.
        answered: the ids of requests whose answers wait in the store.
    """

    process_id: str
    heartbeat: float
    step_timeout: float
    delay: float = 0.0
    standing: Standing = field(default_factory=lambda: Standing("running"))
    answered: list[str] = field(default_factory=list)


@workflow.defn(name="tactician-process")
class ProcessWorkflow:
    """Takes steps of one process until it ends."""

    @workflow.init
    def __init__(self, driven: Driven) -> None:
        self._driven = driven
        self._standing = driven.standing
        self._is_paused = False
        self._is_killed = False
        self._answered = list(driven.answered)
        self._taken: list[str] = []
        self._running: asyncio.Future[Standing] | None = None

    @workflow.run
    async def run(self, driven: Driven) -> str:
        """Runs the process; returns its status in the end."""
        try:
            while not self._has_ended:
                await self._go_on()
        except (asyncio.CancelledError, ActivityError) as error:
            # A cancellation that is none of ours is one of the workflow, with Temporal's tools: the same as a kill.
            self._is_killed = self._is_killed or is_cancelled_exception(error)
            if not self._is_killed:
                raise
        if self._is_killed:
            await self._end()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._standing.status

    @workflow.signal
    def answered(self, request_id: str) -> None:
        """An answer to the request is in the store."""
        self._answered.append(request_id)

    @workflow.signal
    def pause(self) -> None:
        """Takes no further step until `resume`."""
        self._set_paused(True)

    @workflow.signal
    def resume(self) -> None:
        """Goes on after `pause`."""
        self._set_paused(False)

    @workflow.signal
    def kill(self) -> None:
        """Ends the process for good, and interrupts the step that runs."""
        self._is_killed = True
        if self._running is not None:
            self._running.cancel()

    @workflow.update
    async def verdict(self, request_id: str) -> bool:
        """Whether the answer to the request fits, once a step has taken it; `True` when none will for now."""
        await workflow.wait_condition(lambda: request_id not in (*self._answered, *self._taken) or self._rests)
        return request_id not in self._standing.refused

    @workflow.update
    async def rested(self) -> None:
        """Returns once the step that runs has ended."""
        running = self._running
        await workflow.wait_condition(lambda: self._running is not running or running is None)

    @workflow.query
    def status(self) -> str:
        """Where the process stands."""
        return "paused" if self._is_paused and self._running is None and not self._has_ended else self._standing.status

    @workflow.query
    def pending(self) -> list[str]:
        """The ids of the requests that it waits for."""
        return self._standing.pending

    def _set_paused(self, is_paused: bool) -> None:
        if is_paused is not self._is_paused:
            self._is_paused = is_paused
            workflow.upsert_memo({PAUSED: is_paused})  # can be read when no worker runs, unlike a query

    @property
    def _has_ended(self) -> bool:
        return self._standing.has_ended or self._is_killed

    @property
    def _rests(self) -> bool:
        return self._has_ended or (self._is_paused and self._running is None)

    @property
    def _can_go_on(self) -> bool:
        if self._is_paused or self._is_killed:
            return self._is_killed
        return not self._standing.pending or bool(self._answered) or self._is_due

    @property
    def _is_due(self) -> bool:
        return self._standing.wakes_at is not None and self._standing.wakes_at <= workflow.time()

    async def _go_on(self) -> None:
        """Waits until the next step is due, and takes it."""
        while not self._can_go_on:
            await self._wait()
        if self._is_killed:
            return
        await self._take_step()
        if self._driven.delay and not self._has_ended and not self._standing.pending:
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: self._is_killed, timeout=self._driven.delay)
        await self._shorten_history()

    async def _wait(self) -> None:
        """Waits until the next step is due, or until the process is paused, or is no longer."""
        was_paused = self._is_paused
        wakes_at = None if was_paused else self._standing.wakes_at
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._can_go_on or self._is_paused is not was_paused,
                timeout=None if wakes_at is None else max(0.0, wakes_at - workflow.time()),
            )

    async def _take_step(self) -> None:
        self._taken, self._answered = self._answered, []
        self._running = workflow.start_activity(
            STEP,
            args=[self._driven.process_id, workflow.time()],
            result_type=Standing,
            start_to_close_timeout=timedelta(seconds=self._driven.step_timeout),
            heartbeat_timeout=timedelta(seconds=self._driven.heartbeat),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            retry_policy=self._retry_policy,
        )
        try:
            self._standing = await self._running
        finally:
            self._running, self._taken = None, []

    async def _end(self) -> None:
        self._standing = await workflow.execute_activity(
            KILL,
            self._driven.process_id,
            result_type=Standing,
            start_to_close_timeout=timedelta(seconds=self._driven.heartbeat),
            retry_policy=self._retry_policy,
        )

    @property
    def _retry_policy(self) -> RetryPolicy:
        """For what prevents a step, such as a store that cannot be reached. Actions have policies of their own."""
        longest = timedelta(seconds=max(1.0, self._driven.heartbeat))
        return RetryPolicy(maximum_interval=longest, non_retryable_error_types=_PERMANENT)

    async def _shorten_history(self) -> None:
        """Begins anew with an empty history, when Temporal says that it is long. All else is in the store."""
        if not workflow.info().is_continue_as_new_suggested():
            return
        await workflow.wait_condition(lambda: workflow.all_handlers_finished() or bool(self._answered))
        if workflow.all_handlers_finished() and not self._has_ended and not self._is_paused:
            workflow.continue_as_new(replace(self._driven, standing=self._standing, answered=self._answered))
