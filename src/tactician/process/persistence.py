"""Persistence of a process: a snapshot in a store after each step, under a lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from tactician.cancellation import run_to_completion
from tactician.errors import LeaseLostError, RunConflictError, RunNotFoundError, StoredStateError, StoreError
from tactician.process.handle import ProcessHandle
from tactician.process.snapshot import end_snapshot, read_snapshot
from tactician.process.state import ProcessStatus
from tactician.runs import RunRecord, RunStore
from tactician.stores import LEASE_HEARTBEAT, DocumentStore, HeldLease, Lease

DEFAULT_LEASE = 30.0
_HEARTBEATS = 3
_KILL_ATTEMPTS = 20


async def kill_run(store: DocumentStore, run_id: str, reason: str) -> bool:
    """Mark a process or a run in a store as killed; its worker notices and ends it. No agent is needed.

    What is stored of a process that cannot be read stays as it is.

    Returns:
        False when the run had ended before.

    Raises:
        RunNotFoundError: when the store has no run with this id.
        RunConflictError: when the run changes too fast.
    """
    runs = RunStore(store)
    for _ in range(_KILL_ATTEMPTS):
        record = await runs.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        if record.has_ended:
            return False
        state = record.state
        with suppress(StoredStateError):
            state = end_snapshot(state, ProcessStatus.KILLED, reason) if record.kind == "process" else state
        with suppress(RunConflictError):
            await runs.save(replace(record, status=ProcessStatus.KILLED.value, state=state, wakes_at=None))
            return True
    raise RunConflictError(f"{run_id} changes too fast to be killed: try again")


class ProcessPersister:
    """Saver of one process, for as long as its lease is held here.

    Args:
        store: store of the process.
        record: record as loaded or claimed; version 0 for a new process.
        owner: name of this owner of leases.
        lease: lease of a record that was claimed.
        seconds: duration of a lease; the lease is renewed three times in that time.
    """

    def __init__(
        self,
        store: DocumentStore,
        record: RunRecord,
        owner: str,
        *,
        lease: Lease | None = None,
        seconds: float = DEFAULT_LEASE,
    ) -> None:
        self._store = store
        self._runs = RunStore(store)
        self._record = record
        self._owner = owner
        self._seconds = seconds
        self._lease = None if lease is None else self._held(lease)
        self._holder: asyncio.Task[object] | None = None
        self._is_over = self._was_interrupted = False
        self._failure: StoreError | None = None

    def is_current(self, record: RunRecord) -> bool:
        """Return whether the record is the one that was last loaded or saved here."""
        return record.version == self._record.version and not self._was_interrupted

    def can_continue(self, process: ProcessHandle, record: RunRecord) -> bool:
        """Return whether the object in memory is idle and equals the record, so that it can continue itself."""
        return self._holder is None and self.is_current(record) and process.status.value == record.status

    def adopt_lease(self, lease: Lease, seconds: float) -> None:
        """Use a lease that was claimed for the process."""
        self._seconds = seconds
        self._lease = self._held(lease)

    @property
    def was_interrupted(self) -> bool:
        """True when the process was interrupted in the middle of a step: only its record can continue."""
        return self._was_interrupted

    @property
    def has_ended(self) -> bool:
        """True when the saved process has ended."""
        return self._record.has_ended

    async def save(self, process: ProcessHandle) -> None:
        """Save the process as it is now. Kill it here if it was killed in the store meanwhile.

        Raises:
            LeaseLostError: when another worker has claimed the process.
            StoredStateError: when an object on its blackboard has no JSON form.
            StoreError: when the store does not answer, or once did not: then the process continues elsewhere, from
                its record, and its results here do not count.
        """
        if self._is_over:
            return
        if self._failure is not None:
            raise self._failure
        deadlines = [request.deadline for request in process.pending if request.deadline is not None]
        changed = replace(
            self._record,
            status=process.status.value,
            state=self._state_of(process),
            wakes_at=min(deadlines) if deadlines and process.status is ProcessStatus.WAITING else None,
        )
        try:
            await run_to_completion(self._write(changed))
        except RunConflictError:
            if not await self._was_killed():
                raise LeaseLostError(f"{process!r} was changed by somebody else while it was running here") from None
            await self._kill(process)
        except StoreError as error:
            self._failure = error
            raise

    async def _write(self, changed: RunRecord) -> None:
        if self._lease is not None or changed.version or changed.has_ended:
            self._record = await self._runs.save(changed, None if self._lease is None else self._lease.lease)
            return
        self._record, lease = await self._runs.add_and_claim(changed, self._owner, self._seconds)
        self._start_heartbeat(lease)

    def _state_of(self, process: ProcessHandle) -> str:
        """Return the snapshot; that of the last save, ended, for a process that failed because it cannot be saved."""
        try:
            return process.snapshot()
        except StoredStateError:
            if process.status is not ProcessStatus.FAILED or not self._record.version:
                raise
            return end_snapshot(self._record.state, process.status, process.failure or "")

    @asynccontextmanager
    async def hold_lease(self, process: ProcessHandle) -> AsyncIterator[None]:
        """Hold the lease of the process: claim it unless it is held already, renew it, and release it at the end.

        Interrupts the process when the lease is lost.

        Raises:
            RunConflictError: when somebody else runs the process, or has run it since it was loaded.
            LeaseLostError: when the lease was lost.
        """
        if self._holder is not None and self._holder is asyncio.current_task():
            yield
            return
        await self._acquire(process)
        try:
            async with self._renewing(process):
                yield
        except BaseException:
            self._was_interrupted = process.status is ProcessStatus.RUNNING
            raise
        finally:
            self._holder = None
            await self._release()

    async def _acquire(self, process: ProcessHandle) -> None:
        """Claim the lease of a process that was loaded; a new process gets its lease with its first save."""
        if self._holder is not None:
            raise RunConflictError(f"{process!r} is being gone on with already.")
        if self._was_interrupted:
            raise RunConflictError(
                f"{process!r} was interrupted: `await platform.resume({process.id!r})` goes on with what is kept of it."
            )
        self._holder = asyncio.current_task()
        try:
            if self._lease is not None:
                LEASE_HEARTBEAT.add(self._lease)
            elif self._record.version:
                await self._claim(process)
        except BaseException:
            self._holder = None
            raise

    async def _claim(self, process: ProcessHandle) -> None:
        claimed = await self._runs.claim(self._owner, self._seconds, run_id=process.id)
        if claimed is None:
            raise RunConflictError(f"{process!r} has ended, or somebody else is going on with it.")
        record, lease = claimed
        self._start_heartbeat(lease)
        if record.version != self._record.version:
            await self._release()
            raise RunConflictError(
                f"{process!r} has gone on elsewhere since it was loaded: see `await platform.process({process.id!r})`."
            )

    def _held(self, lease: Lease) -> HeldLease:
        return HeldLease(self._store, lease, f"the process {lease.id}", self._seconds)

    def _start_heartbeat(self, lease: Lease) -> None:
        self._lease = self._held(lease)
        LEASE_HEARTBEAT.add(self._lease)

    async def _release(self) -> None:
        held, self._lease = self._lease, None
        if held is not None:
            LEASE_HEARTBEAT.discard(held)
            with suppress(StoreError):  # the lease expires
                await self._store.release(held.lease)

    @asynccontextmanager
    async def _renewing(self, process: ProcessHandle) -> AsyncIterator[None]:
        lost: list[LeaseLostError] = []
        renewal = asyncio.create_task(self._renew(process, asyncio.current_task(), lost))
        try:
            yield
        except asyncio.CancelledError:
            if not lost:
                raise
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            raise lost[0] from None
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal

    async def _renew(
        self, process: ProcessHandle, task: asyncio.Task[object] | None, lost: list[LeaseLostError]
    ) -> None:
        while True:
            await asyncio.sleep(self._seconds / _HEARTBEATS)
            if self._lease is None:
                continue
            try:
                await self._lease.renew()
                was_killed = await self._was_killed()
            except StoreError:  # the lease lasts for two more renewals
                continue
            except LeaseLostError as error:
                lost.append(error)
                if task is not None:
                    task.cancel()
                return
            if was_killed:
                await self._kill(process)
                return

    async def _kill(self, process: ProcessHandle) -> None:
        """End the process here that was killed in the store, for the reason stored there."""
        self._is_over = True
        reason = None
        with suppress(StoreError, StoredStateError):
            record = await self._runs.load(self._record.run_id)
            reason = None if record is None else read_snapshot(record.state)["failure"]
        await process.kill(reason or "killed from outside")

    async def _was_killed(self) -> bool:
        current = await self._runs.load(self._record.run_id)
        return current is not None and current.status == ProcessStatus.KILLED.value
