"""Keeps a process in a store while it runs: a snapshot after each step, under a lease that nobody else has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from tactician.errors import LeaseLostError, RunConflictError, RunNotFoundError, StoredStateError, StoreError
from tactician.process.process import AgentProcess
from tactician.process.snapshot import with_end
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
        self._lease = lease
        self._owner = owner
        self._seconds = seconds
        self._is_over = False
        self._failure: StoreError | None = None

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
        if self._lease is None and not process.status.is_terminal:
            claimed = await self._store.claim(self._owner, self._seconds, run_id=process.id)
            if claimed is None:
                raise LeaseLostError(f"{process!r} was taken by another worker before it began here")
            self._record, self._lease = claimed

    async def _save(self, changed: RunRecord) -> None:
        """Saves the record, and knows that it has, even when it is cancelled meanwhile."""
        saving = asyncio.ensure_future(self._store.save(changed, self._lease))
        try:
            self._record = await asyncio.shield(saving)
        except asyncio.CancelledError:
            self._record = await saving
            raise

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
        """Renews the lease meanwhile, and gives it back afterwards. When it is lost, the process is interrupted.

        Raises:
            LeaseLostError: when the lease was lost.
        """
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
            if self._lease is not None and not lost:
                with suppress(StoreError):  # it expires
                    await self._store.release(self._lease)
                self._lease = None

    async def _beat(self, process: AgentProcess, task: asyncio.Task[object] | None, lost: list[LeaseLostError]) -> None:
        while True:
            await asyncio.sleep(self._seconds / _HEARTBEATS)
            if self._lease is None:
                continue
            try:
                self._lease = await self._store.renew(self._lease, self._seconds)
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
        """Ends here what others have ended in the store."""
        self._is_over = True
        await process.kill("killed from outside")

    async def _was_killed(self) -> bool:
        current = await self._store.load(self._record.run_id)
        return current is not None and current.status == ProcessStatus.KILLED.value
