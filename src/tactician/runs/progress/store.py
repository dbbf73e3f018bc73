"""Store of runs: their records and the logs of their steps, in a document store."""

from __future__ import annotations

from collections.abc import Collection, Sized
from dataclasses import replace
from functools import cache
from typing import Final

from tactician.errors import DocumentConflictError, RunConflictError, StoredStateError
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.progress.record import RUNS, RunRecord, read_record, read_record_or_problem, write_record
from tactician.runs.progress.steps import LogSize, RunState, RunStep, Snapshot, fold, read_step
from tactician.stores import DocumentStore, MemoryStore
from tactician.stores.document import Body, Lease, StoredStep

_PRUNED_AT_ONCE: Final = 1000


class RunStore:
    """Runs of a document store."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

    async def load(self, run_id: str, *, with_body: bool = True) -> RunRecord | None:
        """Return the record of a run, or `None`.

        Raises:
            StoredStateError: when the record cannot be read.
        """
        document = await self._documents.load(RUNS, run_id, with_body=with_body)
        return None if document is None else read_record(document)

    async def load_readable(self, run_id: str) -> RunRecord | None:
        """Return the record of a run without its body, or `None`; with a `problem`, when it cannot be read."""
        document = await self._documents.load(RUNS, run_id, with_body=False)
        return None if document is None else read_record_or_problem(document)

    async def load_state(self, record: RunRecord, at: int | None = None) -> RunState:
        """Return the state of a run after a step.

        Args:
            record: record of the run, with its body.
            at: number of the step; the last by default.

        Raises:
            StoredStateError: when the state, or the record itself, cannot be read.
        """
        if record.problem is not None:
            raise StoredStateError(record.problem)
        snapshot = record.snapshot
        if at is not None and snapshot is not None and snapshot.step > at:
            snapshot = None  # the steps alone have it too
        after = 0 if snapshot is None else snapshot.step
        stored = await self._documents.load_steps(RUNS, record.run_id, after=after, until=at)
        steps = [read_step(step) for step in stored]
        sizes = (measure_step(each.body, step) for each, step in zip(stored, steps, strict=True))
        size = LogSize(0 if snapshot is None else measure_body(record.body), sum(sizes))
        return fold(record.name, snapshot, steps, size)

    async def load_steps(self, run_id: str, *, after: int = 0, until: int | None = None) -> list[RunStep]:
        """Return the steps of a run, oldest first.

        Args:
            run_id: id of the run.
            after: number of the step before the first; from the beginning by default.
            until: number of the last; to the end by default.

        Raises:
            StoredStateError: when a step cannot be read.
        """
        stored = await self._documents.load_steps(RUNS, run_id, after=after, until=until)
        return [read_step(step) for step in stored]

    async def load_attachment(self, run_id: str, name: str) -> bytes | None:
        """Return the content of a picture or file of a run, by its SHA-256 hash, or `None`."""
        return await self._documents.load_attachment(RUNS, run_id, name)

    async def copy_steps(self, run_id: str, lease: Lease, *, until: int) -> None:
        """Append the first steps of a run to the empty log of another, unread."""
        for step in await self._documents.load_steps(RUNS, run_id, until=until) if until else ():
            await self._documents.append(lease, step)

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Save a record whose version is still the stored version, and return it with its new version.

        Raises:
            RunConflictError: when the stored version differs.
            LeaseLostError: when the lease is not the newest of the run.
        """
        try:
            saved = await self._documents.save(write_record(record), lease)
        except DocumentConflictError as error:
            raise _conflict(record.run_id) from error
        return replace(record, version=saved.version, body=None)

    async def add_and_claim(
        self, record: RunRecord, owner: str, seconds: float, step: Body | None = None
    ) -> tuple[RunRecord, Lease]:
        """Save a new record and claim its run in a single write, with its first step.

        Raises:
            RunConflictError: when there is a record of the run, or of another run with its idempotency key.
        """
        first = None if step is None else StoredStep(1, step)
        try:
            saved, lease = await self._documents.add_and_claim(write_record(record), owner, seconds, first)
        except DocumentConflictError as error:
            raise _conflict(record.run_id) from error
        return replace(record, version=saved.version, body=None), lease

    async def append(self, lease: Lease, number: int, step: Body) -> None:
        """Append a step to the log of a run.

        Raises:
            RunConflictError: when the run was ended meanwhile.
            LeaseLostError: when the lease is not the newest of the run.
        """
        try:
            await self._documents.append(lease, StoredStep(number, step))
        except DocumentConflictError as error:
            raise _conflict(lease.id) from error

    async def rest(self, record: RunRecord, lease: Lease, number: int, step: Body) -> RunRecord:
        """Append a step to the log of a run, save its record and release the lease, in a single write.

        Raises:
            RunConflictError: when the stored version differs, or the run was ended meanwhile.
            LeaseLostError: when the lease is not the newest of the run.
        """
        try:
            saved = await self._documents.rest(write_record(record), lease, StoredStep(number, step))
        except DocumentConflictError as error:
            raise _conflict(record.run_id) from error
        return replace(record, version=saved.version, body=None)

    def encode(self, state: Snapshot | RunStep) -> Body:
        """Return a snapshot or a step as the store keeps it: as it is, or as text.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        return state if self._documents.keeps_objects else state.to_json()

    async def delete(self, run_id: str) -> None:
        """Delete a run, if it exists."""
        await self._documents.delete(RUNS, run_id)

    async def prune(self, seconds: float) -> int:
        """Delete the runs that ended longer ago than so many seconds, some at a time; return how many."""
        deleted = last = await self._documents.prune(RUNS, seconds, limit=_PRUNED_AT_ONCE)
        while last == _PRUNED_AT_ONCE:
            last = await self._documents.prune(RUNS, seconds, limit=_PRUNED_AT_ONCE)
            deleted += last
        return deleted

    async def find(
        self,
        *,
        statuses: Collection[str] = (),
        names: Collection[str] = (),
        parent_id: str | None = None,
        idempotency_key: str | None = None,
        limit: int = 1000,
        newest_first: bool = False,
        after: int | None = None,
    ) -> list[RunRecord]:
        """Return the records that match every filter, without their bodies: the oldest first, or the newest.

        An unreadable record is in the list; its `problem` says why. See `DocumentStore.find`.
        """
        documents = await self._documents.find(
            RUNS,
            statuses=statuses,
            names=names,
            parent_id=parent_id,
            key=idempotency_key,
            limit=limit,
            with_bodies=False,
            newest_first=newest_first,
            after=after,
        )
        return [read_record_or_problem(document) for document in documents]

    async def count_statuses(self) -> dict[str, int]:
        """Return the number of runs with each status."""
        return await self._documents.count_statuses(RUNS)

    @staticmethod
    def find_in_file(
        path: str, *, statuses: Collection[str] = (), limit: int = 1000, newest_first: bool = False
    ) -> list[RunRecord] | None:
        """Return the records in an SQLite file as `find` does, without the numbers of their steps, and much sooner.

        Returns:
            `None` when the file cannot be read in this simple way.
        """
        from tactician.stores.sqlite_listing import list_documents

        documents = list_documents(path, RUNS, statuses=statuses, limit=limit, newest_first=newest_first)
        return None if documents is None else [read_record_or_problem(document) for document in documents]

    async def find_waiting(self, *, limit: int = 1000) -> list[RunRecord]:
        """Return the runs that wait for somebody, or of which a part does while others continue, oldest first."""
        waiting = await self.find(statuses=(RunStatus.WAITING.value,), limit=limit)
        running = await self.find(statuses=(RunStatus.RUNNING.value,), limit=limit)
        records = [*waiting, *(record for record in running if record.header.pending)]
        return sorted(records, key=lambda record: record.header.started_at or 0.0)[:limit]

    async def claim(
        self,
        owner: str,
        seconds: float,
        *,
        run_id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[RunRecord, Lease] | None:
        """Claim the run with the id, or else the most urgent run that has been ready or overdue for longest.

        Args:
            owner: name of the claimer.
            seconds: duration of the lease.
            run_id: id of the run; any run that can continue, by default.
            names: names that the run may have; any by default.
            excluded_ids: ids of runs not to claim.
        """
        claimed = await self._documents.claim(RUNS, owner, seconds, id=run_id, names=names, excluded_ids=excluded_ids)
        return None if claimed is None else (read_record_or_problem(claimed[0]), claimed[1])


@cache
def default_store() -> MemoryStore:
    """Return the store of runs outside of any platform or service."""
    return MemoryStore()


def measure_body(body: Body | None) -> int:
    """Return the size of a body, where the store keeps text."""
    return len(body) if isinstance(body, Sized) else 0


def measure_step(body: Body, step: RunStep) -> int:
    """Return the size of what a step adds to the state of a run, where the store keeps text."""
    return max(0, measure_body(body) - len(step.events))


def _conflict(run_id: str) -> RunConflictError:
    return RunConflictError(f"The run {run_id} was changed by another worker: load it again to see its status.")
