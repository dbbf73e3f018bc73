"""Where runs and processes are kept, and who may go on with them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from time import time
from typing import Literal, Protocol

from tactician.errors import LeaseLostError, RunConflictError

RUNNABLE = frozenset({"running", "not started"})
ENDED = frozenset({"completed", "failed", "terminated", "killed"})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run or a process as it is kept.

    Attributes:
        run_id: whose record it is.
        name: what is run.
        status: where it stands, such as `"waiting"`.
        state: what it has done so far, as JSON.
        version: counts the changes of the record; a new one has 0.
        kind: a run of an agent, or a process.
        parent_id: the run that it is part of.
        wakes_at: from then on it may be claimed although it waits, in seconds since the epoch by the store's clock.
    """

    run_id: str
    name: str
    status: str
    state: str
    version: int = 0
    kind: Literal["run", "process"] = "run"
    parent_id: str | None = None
    wakes_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to go on with a run. `fence` grows with each lease of a run: an older one is worth nothing."""

    run_id: str
    owner: str
    fence: int
    expires_at: float


class RunStore(Protocol):
    """Keeps the records of runs and processes. Its own time decides about leases."""

    async def load(self, run_id: str) -> RunRecord | None:
        """The record of a run; `None` when there is none."""
        ...

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Keeps a record, unless somebody else has changed it since it was loaded; the record with its new version.

        Raises:
            RunConflictError: when the kept record has another version.
            LeaseLostError: when the lease is not the newest of the run.
        """
        ...

    async def add(self, record: RunRecord, owner: str, seconds: float) -> tuple[RunRecord, Lease]:
        """Keeps a new record, and takes its run at once: nobody can come in between.

        Raises:
            RunConflictError: when there is a record of the run.
        """
        ...

    async def delete(self, run_id: str) -> None:
        """Drops the record of a run, if there is one."""
        ...

    async def records(
        self, *, statuses: Collection[str] = (), names: Collection[str] = (), limit: int = 1000
    ) -> list[RunRecord]:
        """The records that have one of the statuses and names, oldest first; without any, all."""
        ...

    async def claim(
        self,
        owner: str,
        seconds: float,
        *,
        run_id: str | None = None,
        names: Collection[str] = (),
        passing_over: Collection[str] = (),
    ) -> tuple[RunRecord, Lease] | None:
        """Takes a run that can go on and is nobody's: the one with the id, or the oldest that runs or has to wake.

        Args:
            owner: who takes it.
            seconds: for how long.
            run_id: which one is wanted; any by default.
            names: what it may be a run of; anything by default.
            passing_over: the ids of runs that are not wanted.
        """
        ...

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """The lease, valid for longer. It is also called from event loops of other threads, while that of the program
        is busy.

        Raises:
            LeaseLostError: when somebody else has taken the run, or the lease was given back.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Gives a lease back; nothing happens when it was lost."""
        ...

    async def load_context(self, context_id: str) -> tuple[str, int] | None:
        """The text of a context, and its version."""
        ...

    async def save_context(self, context_id: str, text: str, version: int) -> int:
        """Keeps a context whose version was this, 0 for a new one; its new version.

        Raises:
            RunConflictError: when it has another version.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...


class MemoryRuns:
    """Keeps runs in this process, as long as it lives.

    Args:
        time: the time, in seconds since the epoch.
    """

    def __init__(self, time: Callable[[], float] = time) -> None:
        self._records: dict[str, RunRecord] = {}
        self._leases: dict[str, Lease] = {}
        self._contexts: dict[str, tuple[str, int]] = {}
        self._claiming = Lock()
        self._time = time

    def __len__(self) -> int:
        return len(self._records)

    async def load(self, run_id: str) -> RunRecord | None:
        """The record of a run; `None` when there is none."""
        return self._records.get(run_id)

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Keeps a record; see `RunStore.save`."""
        if lease is not None:
            self._check(lease)
        kept = self._records.get(record.run_id)
        if (0 if kept is None else kept.version) != record.version:
            raise run_changed(record.run_id)
        saved = self._records[record.run_id] = replace(record, version=record.version + 1)
        return saved

    async def add(self, record: RunRecord, owner: str, seconds: float) -> tuple[RunRecord, Lease]:
        """Keeps a new record, and takes its run at once."""
        saved = await self.save(replace(record, version=0))
        with self._claiming:
            lease = self._leases[record.run_id] = Lease(record.run_id, owner, 1, self._time() + seconds)
        return saved, lease

    async def delete(self, run_id: str) -> None:
        """Drops the record of a run, if there is one."""
        self._records.pop(run_id, None)
        self._leases.pop(run_id, None)

    async def records(
        self, *, statuses: Collection[str] = (), names: Collection[str] = (), limit: int = 1000
    ) -> list[RunRecord]:
        """The records that have one of the statuses and names, oldest first; without any, all."""
        found = (
            record
            for record in self._records.values()
            if (not statuses or record.status in statuses) and (not names or record.name in names)
        )
        return [record for record, _ in zip(found, range(limit), strict=False)]

    async def claim(
        self,
        owner: str,
        seconds: float,
        *,
        run_id: str | None = None,
        names: Collection[str] = (),
        passing_over: Collection[str] = (),
    ) -> tuple[RunRecord, Lease] | None:
        """Takes a run; see `RunStore.claim`."""
        now = self._time()
        for record in self._records.values():
            if run_id not in (None, record.run_id) or (names and record.name not in names) or record.status in ENDED:
                continue
            if record.run_id in passing_over:
                continue
            wakes = record.wakes_at is not None and record.wakes_at <= now
            if run_id is None and record.status not in RUNNABLE and not wakes:
                continue
            with self._claiming:
                held = self._leases.get(record.run_id)
                if held is None or held.expires_at <= now:
                    lease = Lease(record.run_id, owner, 1 if held is None else held.fence + 1, now + seconds)
                    self._leases[record.run_id] = lease
                    return record, lease
        return None

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """The lease, valid for longer."""
        with self._claiming:
            self._check(lease)
            if not self._leases[lease.run_id].expires_at:
                raise run_taken(lease.run_id)
            renewed = self._leases[lease.run_id] = replace(lease, expires_at=self._time() + seconds)
        return renewed

    async def release(self, lease: Lease) -> None:
        """Gives a lease back."""
        with self._claiming:
            held = self._leases.get(lease.run_id)
            if held is not None and held.fence == lease.fence:
                self._leases[lease.run_id] = replace(held, expires_at=0.0)

    async def load_context(self, context_id: str) -> tuple[str, int] | None:
        """The text of a context, and its version."""
        return self._contexts.get(context_id)

    async def save_context(self, context_id: str, text: str, version: int) -> int:
        """Keeps a context."""
        kept = self._contexts.get(context_id)
        if (0 if kept is None else kept[1]) != version:
            raise context_changed(context_id)
        self._contexts[context_id] = text, version + 1
        return version + 1

    async def aclose(self) -> None:
        """Nothing has to be closed."""

    def _check(self, lease: Lease) -> None:
        held = self._leases.get(lease.run_id)
        if held is None or held.fence != lease.fence:
            raise run_taken(lease.run_id)


def run_changed(run_id: str) -> RunConflictError:
    """The error of a save that came too late."""
    return RunConflictError(f"The run {run_id} has been changed by somebody else: load it again to see how it stands.")


def run_taken(run_id: str) -> LeaseLostError:
    """The error of whoever has no right to a run any more."""
    return LeaseLostError(f"The run {run_id} has been taken by another worker.")


def context_changed(context_id: str) -> RunConflictError:
    """The error of a save of a context that came too late."""
    return RunConflictError(f"The context {context_id!r} has been changed by somebody else: load it again.")


@cache
def default_store() -> MemoryRuns:
    """The store of runs that were given no other."""
    return MemoryRuns()
