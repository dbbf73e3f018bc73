"""Leases of runs in a store: a run is claimed, held here while it continues, and may be killed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final, TypeVar

from tactician.cancellation import run_to_completion
from tactician.clock import pause
from tactician.errors import (
    AlreadyAnsweredError,
    LeaseLostError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
    StoreError,
)
from tactician.runs.context.context import RunContext
from tactician.runs.context.services import Services
from tactician.runs.outcomes.errors import RunKilledError
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import create_answered_error, find_answered
from tactician.stores import DocumentStore
from tactician.stores.checks import escape_invalid
from tactician.stores.document import Lease
from tactician.stores.lease_heartbeat import LEASE_HEARTBEAT, HeldLease

T = TypeVar("T")
DEFAULT_LEASE: Final = 30.0
_HEARTBEATS: Final = 3
_KILL_ATTEMPTS: Final = 20
_PAUSES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between attempts to claim a run: the person who was first holds it before the answer is in the store."""


class LeaseTime:
    """Service with the duration of the leases of runs, as far as nobody asks for another.

    Attributes:
        seconds: seconds after which others continue the runs of a program that has died.
    """

    def __init__(self) -> None:
        self.seconds = DEFAULT_LEASE


class HeldRun:
    """Run of a store whose lease is held while the run continues here, and renewed three times in its duration.

    Args:
        context: context of the run.
        record: record as loaded or claimed; version 0 for a new run.
        owner: name of the owner of its leases.
        lease: lease of a record that was claimed.
        seconds: duration of a lease; `LeaseTime` by default.

    Attributes:
        record: record as last loaded or saved.
        killed: why the run was killed in the store; `None` when it was not.
    """

    def __init__(
        self,
        context: RunContext,
        record: RunRecord,
        owner: str,
        *,
        lease: Lease | None = None,
        seconds: float | None = None,
    ) -> None:
        self.record = record
        self.killed: str | None = None
        self._context = context
        self._runs = RunStore(context.store)
        self._owner = owner
        self._seconds = context.services.find(LeaseTime).seconds if seconds is None else seconds
        self._lease = None if lease is None else self._watch(lease)
        self._steps = record.steps
        self._holder: asyncio.Task[object] | None = None
        self._was_interrupted = self._has_interrupted = False
        self._failure: Exception | None = None

    @property
    def was_interrupted(self) -> bool:
        """True when the run was interrupted in the middle of a step: only its record can continue."""
        return self._was_interrupted

    @property
    def is_held(self) -> bool:
        """True while the run continues here."""
        return self._holder is not None

    def is_current(self, record: RunRecord) -> bool:
        """Return whether the record is as it was last loaded or saved here, so that the live objects are up to date."""
        is_same = (record.version, record.steps) == (self.record.version, self._steps)
        return is_same and not self._was_interrupted and self._failure is None

    def adopt(self, record: RunRecord, lease: Lease, seconds: float) -> None:
        """Use a lease that was claimed for the run."""
        self.record, self._seconds = replace(record, body=None), seconds
        self._lease = self._watch(lease)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the lease of the run: claim it unless it is held already, renew it, and release it at the end.

        A new run is added to the store with its first step. What runs is interrupted when the lease is lost, or the
        run is killed.

        Raises:
            RunConflictError: when somebody else continues the run, or has done so since it was loaded.
            LeaseLostError: when the lease was lost.
            RunKilledError: when the run was killed in the store.
        """
        if self._holder is not None and self._holder is asyncio.current_task():
            yield
            return
        # The claim is outside of `try`: a run that somebody else holds was not interrupted here.
        await self._acquire()
        try:
            async with self._renew_lease():
                yield
        except BaseException:
            # The live objects may be halfway through a step, so only the stored state may continue. A run that waits
            # or has ended was saved whole.
            self._was_interrupted = self.record.status is RunStatus.RUNNING
            raise
        finally:
            self._holder = None
            await self._release()

    def _check(self) -> None:
        """Raise the error again that kept an earlier step from being saved: code that caught it cannot continue."""
        if self._failure is not None:
            raise self._failure

    async def _acquire(self) -> None:
        run_id = self.record.run_id
        if self._holder is not None:
            raise RunConflictError(f"The run {run_id} is being continued already.")
        # Checked before the claim: claiming would take the run from a worker that can continue it.
        if self._was_interrupted:
            raise RunConflictError(
                f"The run {run_id} was interrupted: `await platform.resume({run_id!r})` continues from its checkpoint."
            )
        # Set before the first `await`: a second caller must see that the run is being continued.
        self._holder = asyncio.current_task()
        try:
            if self._lease is not None:
                LEASE_HEARTBEAT.add(self._lease)
            elif self.record.version:  # a new run gets its lease with its first step
                await self._claim()
        except BaseException:
            self._holder = None
            raise

    async def _claim(self) -> None:
        claimed = await self._runs.claim(self._owner, self._seconds, run_id=self.record.run_id)
        if claimed is None:
            raise RunConflictError(f"The run {self.record.run_id} has ended, or another worker is continuing it.")
        record, lease = claimed
        self._lease = self._watch(lease)
        LEASE_HEARTBEAT.add(self._lease)
        # Another worker may have run it between the load and the claim. Then the objects here are old, and the lease
        # goes back.
        if record.version != self.record.version or record.steps != self._steps:
            await self._release()
            raise RunConflictError(
                f"The run {record.run_id} was continued by another worker since it was loaded: load it again."
            )

    def _watch(self, lease: Lease) -> HeldLease:
        return HeldLease(self._context.store, lease, f"the run {lease.id} of {self.record.name}", self._seconds)

    async def _release(self) -> None:
        held, self._lease = self._lease, None
        if held is not None:
            LEASE_HEARTBEAT.discard(held)
            with suppress(StoreError):  # the lease expires
                await run_to_completion(self._context.store.release(held.lease))

    @asynccontextmanager
    async def _renew_lease(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        renewal = asyncio.create_task(self._renew(task))
        try:
            yield
        except asyncio.CancelledError:
            # Somebody else has cancelled the run: that is no loss of the lease.
            if task is None or self._failure is None or not self._has_interrupted:
                raise
            # The cancellation was our own signal to stop. The caller gets the reason, and cancellations by others
            # still count.
            task.uncancel()
            raise self._failure from None
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal

    async def _renew(self, task: asyncio.Task[object] | None) -> None:
        """Renew the lease again and again. Interrupt the run when it is lost, or the run was killed."""
        while self._failure is None:
            await pause(self._seconds / _HEARTBEATS, self._context.store.clock)
            if self._lease is None:
                continue
            try:
                await self._lease.renew()
                if (reason := await self._find_kill()) is not None:
                    self._set_killed(reason)
            except LeaseLostError as error:
                self._failure = error
            # A store that is down for a moment must not end the run: nobody else can claim it before the lease
            # expires.
            except StoreError:  # the lease lasts for two more renewals
                continue
        if task is not None:
            self._has_interrupted = True
            task.cancel()

    async def _find_kill(self) -> str | None:
        """Return why the run was killed in the store, if it was."""
        with suppress(StoredStateError):
            # The body of a long run is large, and only its status counts here.
            record = await self._runs.load(self.record.run_id, with_body=False)
            if record is not None and record.status is RunStatus.KILLED:
                return record.header.failure or "killed"
        return None

    def _set_killed(self, reason: str) -> RunKilledError:
        self.killed = reason
        context = self._context
        result = RunResult(None, RunStatus.KILLED, tally=context.tally, run_id=context.run_id)
        self._failure = error = RunKilledError(f"{self.record.name}: the run was killed: {reason}", result)
        return error


async def kill_run(store: DocumentStore, run_id: str, reason: str) -> bool:
    """Mark a run in a store as killed, whatever its state is; its worker notices and ends it.

    Returns:
        False when the run had ended before.

    Raises:
        RunNotFoundError: when the store has no run with this id.
        RunConflictError: when the run changes too fast.
    """
    from tactician.runs.life.withdrawals import save_withdrawals

    runs = RunStore(store)
    for _ in range(_KILL_ATTEMPTS):
        record = await runs.load_readable(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        if record.has_ended:
            return False
        # The run is not claimed first: a kill must work while its worker holds the lease, and while the worker hangs.
        header = replace(record.header, pending=(), failure=escape_invalid(reason))
        with suppress(RunConflictError):
            await runs.save(replace(record, status=RunStatus.KILLED, header=header, wakes_at=None))
            await save_withdrawals(store, record.header.pending)
            return True
    raise RunConflictError(f"{run_id} changes too fast to be killed: try again")


async def claim_to_answer(
    claim: Callable[[], Awaitable[T]], run_id: str, request_ids: Collection[str], services: Services
) -> T:
    """Return what a claim of a run returns. While somebody else holds the run, try a few times.

    Args:
        claim: the claim, which raises a `RunConflictError` while somebody else holds the run.
        run_id: the id of the run.
        request_ids: the ids of the requests to answer.
        services: the store and the clock.

    Raises:
        AlreadyAnsweredError: when one of the requests has an answer.
        RunConflictError: when somebody else still holds the run, or it has ended.
    """
    for seconds in _PAUSES:
        try:
            return await claim()
        except AlreadyAnsweredError:
            raise
        except RunConflictError:
            if not await _can_be_answered(run_id, request_ids, services):
                raise
        await services.clock.sleep(seconds)
    return await claim()


async def _can_be_answered(run_id: str, request_ids: Collection[str], services: Services) -> bool:
    record = await check_unanswered(run_id, request_ids, services)
    if record is None or not request_ids or record.status.is_terminal:
        return False
    return {*request_ids} <= {request.id for request in record.header.pending}


def check_first(record: RunRecord, request_ids: Collection[str]) -> None:
    """Check that a run keeps no answer to any of these requests: the first answer counts, until a run fails with it.

    Raises:
        AlreadyAnsweredError: when it keeps an answer to one of them.
    """
    kept = [request.id for request in record.header.pending if request.is_answered and request.id in request_ids]
    if kept and record.header.failure is None:
        raise create_answered_error(record.run_id, kept)


async def check_unanswered(run_id: str, request_ids: Collection[str], services: Services) -> RunRecord | None:
    """Check that a run has taken no answer to any of these requests, and return its record, if there is one.

    Raises:
        AlreadyAnsweredError: when one of them has an answer.
    """
    runs = RunStore(services.store)
    if (record := await runs.load(run_id)) is None or not request_ids:
        return record
    state = await runs.load_state(record)
    if answered := find_answered(state.tree, request_ids):
        raise create_answered_error(run_id, answered)
    return record
