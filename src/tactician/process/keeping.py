"""Keeps a process in a store while it runs: a snapshot after each step, under a lease that nobody else has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from tactician.errors import LeaseLostError, RunConflictError, RunNotFoundError, StoredStateError, StoreError
from tactician.process.process import AgentProcess
from tactician.process.snapshot import read, with_end
from tactician.process.standing_in import STAND_IN, HeldLease
from tactician.process.status import ProcessStatus
from tactician.runs import Lease, RunRecord, RunStore
from tactician.runs.store import ENDED

DEFAULT_LEASE = 30.0
_HEARTBEATS = 3
_KILLS = 20


async def kill_in(store: RunStore, run_id: str, reason: str) -> bool:
    """Marks a process or a run in a store as killed; whoever runs it sees that, and ends it. No agent is needed.

    Returns:
        Whether it had not ended before.

    Raises:
        RunNotFoundError: when the store holds none with the id.
        RunConflictError: when it changes too fast.
        StoredStateError: when what is kept of a process cannot be read.
    """
    for _ in range(_KILLS):
        record = await store.load(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        if record.status in ENDED:
            return False
        is_process = record.kind == "process"
        state = with_end(record.state, ProcessStatus.KILLED, reason) if is_process else record.state
        with suppress(RunConflictError):
            await store.save(replace(record, status=ProcessStatus.KILLED.value, state=state, wakes_at=None))
            return True
    raise RunConflictError(f"{run_id} changes too fast to be killed: try again")


class StoreKeeper:
    """Saves one process, as long as it is ours.

    Args:
        store: where it is kept.
        record: its record, as it was loaded or claimed; one with version 0 is new.
        lease: ours, when the record was claimed.
        owner: who we are.
        seconds: how long a lease is valid; it is renewed three times in that time.
    """

    def __init__(
        self,
        store: RunStore,
        record: RunRecord,
        owner: str,
        *,
        lease: Lease | None = None,
        seconds: float = DEFAULT_LEASE,
    ) -> None:
        self._store = store
        self._record = record
        self._owner = owner
        self._seconds = seconds
        self._lease = None if lease is None else self._ours(lease)
        self._holder: asyncio.Task[object] | None = None
        self._is_over = self._was_interrupted = False
        self._failure: StoreError | None = None

    def is_current(self, record: RunRecord) -> bool:
        """Whether the process here is what is kept: nobody has changed it since it was loaded or saved here."""
        return record.version == self._record.version and not self._was_interrupted

    def can_go_on(self, process: AgentProcess, record: RunRecord) -> bool:
        """Whether the process here rests, just as it is kept, so that it can itself go on."""
        return self._holder is None and self.is_current(record) and process.status.value == record.status

    def take_over(self, lease: Lease, seconds: float) -> None:
        """Has the lease of a process that is about to go on."""
        self._seconds = seconds
        self._lease = self._ours(lease)

    @property
    def was_interrupted(self) -> bool:
        """Whether the process was interrupted here, in the middle of something: only what is kept can go on."""
        return self._was_interrupted

    @property
    def has_ended(self) -> bool:
        """Whether the process was kept here as one that has ended."""
        return self._record.status in ENDED

    async def keep(self, process: AgentProcess) -> None:
        """Saves the process as it is now. One that was killed by others in the meantime is killed here too.

        Raises:
            LeaseLostError: when another worker has taken it over.
            StoredStateError: when an object on its blackboard has no JSON form.
            StoreError: when the store does not answer, or once did not: then the process goes on elsewhere, from what
                the store has, and what comes of it here does not count.
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
            await self._save(changed)
        except RunConflictError:
            if not await self._was_killed():
                raise LeaseLostError(f"{process!r} was changed by somebody else while it was running here") from None
            await self._kill(process)
            return
        except StoreError as error:
            self._failure = error
            raise

    async def _save(self, changed: RunRecord) -> None:
        """Saves the record, and knows that it has, even when it is cancelled meanwhile. A new one is ours then."""
        saving = asyncio.ensure_future(self._saved(changed))
        try:
            self._record = await asyncio.shield(saving)
        except asyncio.CancelledError:
            self._record = await saving
            raise

    async def _saved(self, changed: RunRecord) -> RunRecord:
        if self._lease is not None or changed.version or changed.status in ENDED:
            return await self._store.save(changed, None if self._lease is None else self._lease.lease)
        saved, lease = await self._store.add(changed, self._owner, self._seconds)
        self._hold(lease)
        return saved

    def _state_of(self, process: AgentProcess) -> str:
        """The process as JSON; for one that has failed because it has none, what was kept of it last."""
        try:
            return process.snapshot()
        except StoredStateError:
            if process.status is not ProcessStatus.FAILED:
                raise
            return self._record.state

    @asynccontextmanager
    async def holding(self, process: AgentProcess) -> AsyncIterator[None]:
        """Makes the process ours meanwhile: takes the lease, unless it is ours already, renews it, and gives it back.
        When it is lost, the process is interrupted.

        Raises:
            RunConflictError: when somebody else is going on with the process, or has since it was loaded.
            LeaseLostError: when the lease was lost.
        """
        if self._holder is not None and self._holder is asyncio.current_task():
            yield
            return
        await self._take(process)
        try:
            async with self._beating(process):
                yield
        except BaseException:
            self._was_interrupted = process.status is ProcessStatus.RUNNING
            raise
        finally:
            self._holder = None
            await self._give_back()

    async def _take(self, process: AgentProcess) -> None:
        """Takes the lease of a process that was loaded; that of a new one is taken when it is first saved."""
        if self._holder is not None:
            raise RunConflictError(f"{process!r} is being gone on with already.")
        if self._was_interrupted:
            raise RunConflictError(
                f"{process!r} was interrupted: `await platform.resume({process.id!r})` goes on with what is kept of it."
            )
        self._holder = asyncio.current_task()
        try:
            if self._lease is not None:
                STAND_IN.add(self._lease)
            elif self._record.version:
                await self._claim(process)
        except BaseException:
            self._holder = None
            raise

    async def _claim(self, process: AgentProcess) -> None:
        claimed = await self._store.claim(self._owner, self._seconds, run_id=process.id)
        if claimed is None:
            raise RunConflictError(f"{process!r} has ended, or somebody else is going on with it.")
        record, lease = claimed
        self._hold(lease)
        if record.version != self._record.version:
            await self._give_back()
            raise RunConflictError(
                f"{process!r} has gone on elsewhere since it was loaded: see `await platform.process({process.id!r})`."
            )

    def _ours(self, lease: Lease) -> HeldLease:
        return HeldLease(self._store, lease, f"the process {lease.run_id}", self._seconds)

    def _hold(self, lease: Lease) -> None:
        self._lease = self._ours(lease)
        STAND_IN.add(self._lease)

    async def _give_back(self) -> None:
        held, self._lease = self._lease, None
        if held is not None:
            STAND_IN.discard(held)
            with suppress(StoreError):  # it expires
                await self._store.release(held.lease)

    @asynccontextmanager
    async def _beating(self, process: AgentProcess) -> AsyncIterator[None]:
        lost: list[LeaseLostError] = []
        beating = asyncio.create_task(self._beat(process, asyncio.current_task(), lost))
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
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _beat(self, process: AgentProcess, task: asyncio.Task[object] | None, lost: list[LeaseLostError]) -> None:
        while True:
            await asyncio.sleep(self._seconds / _HEARTBEATS)
            if self._lease is None:
                continue
            try:
                await self._lease.renew()
                was_killed = await self._was_killed()
            except StoreError:  # the lease lasts for two more of these
                continue
            except LeaseLostError as error:
                lost.append(error)
                if task is not None:
                    task.cancel()
                return
            if was_killed:
                await self._kill(process)
                return

    async def _kill(self, process: AgentProcess) -> None:
        """Ends here what others have ended in the store, for the reason that they gave."""
        self._is_over = True
        reason = None
        with suppress(StoreError, StoredStateError):
            record = await self._store.load(self._record.run_id)
            reason = None if record is None else read(record.state)["failure"]
        await process.kill(reason or "killed from outside")

    async def _was_killed(self) -> bool:
        current = await self._store.load(self._record.run_id)
        return current is not None and current.status == ProcessStatus.KILLED.value
