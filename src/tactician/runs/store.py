"""Records of runs and processes in a document store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, cast

from tactician.errors import DocumentConflictError, RunConflictError
from tactician.stores import AT_ONCE, DocumentStore, Lease, MemoryStore, StoredDocument

_COLLECTION: Final = "runs"
_RUNNABLE: Final = frozenset({"running", "not started"})
_ENDED: Final = frozenset({"completed", "failed", "terminated", "killed"})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Stored state of a run or a process.

    Attributes:
        run_id: id of the run.
        name: name of the Runnable.
        status: status of the run, such as `"waiting"`.
        state: progress of the run, as JSON.
        version: number of saves; 0 for a new record.
        kind: a run of an agent, or a process.
        parent_id: id of the run that this one is part of.
        wakes_at: seconds since the epoch, by the store's clock, from which a run that waits may be claimed.
    """

    run_id: str
    name: str
    status: str
    state: str
    version: int = 0
    kind: Literal["run", "process"] = "run"
    parent_id: str | None = None
    wakes_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """True when the run cannot continue."""
        return self.status in _ENDED


class RunStore:
    """Runs and processes of a document store."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

    async def load(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, or `None`."""
        document = await self._documents.load(_COLLECTION, run_id)
        return None if document is None else _record(document)

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Save a record whose version is still the stored one, and return it with its new version.

        Raises:
            RunConflictError: when the stored version is another one.
            LeaseLostError: when the lease is not the newest one of the run.
        """
        try:
            saved = await self._documents.save(_document(record), lease)
        except DocumentConflictError as error:
            raise _conflict(record) from error
        return replace(record, version=saved.version)

    async def add_and_claim(self, record: RunRecord, owner: str, seconds: float) -> tuple[RunRecord, Lease]:
        """Save a new record and claim its run in one step.

        Raises:
            RunConflictError: when there is a record of the run.
        """
        try:
            saved, lease = await self._documents.add_and_claim(_document(record), owner, seconds)
        except DocumentConflictError as error:
            raise _conflict(record) from error
        return replace(record, version=saved.version), lease

    async def delete(self, run_id: str) -> None:
        """Delete the record of a run, if there is one."""
        await self._documents.delete(_COLLECTION, run_id)

    async def find(
        self,
        *,
        statuses: Collection[str] = (),
        names: Collection[str] = (),
        parent_id: str | None = None,
        limit: int = 1000,
    ) -> list[RunRecord]:
        """Return the records with one of the statuses and names, inside a run, oldest first; all by default."""
        found = await self._documents.find(
            _COLLECTION, statuses=statuses, names=names, parent_id=parent_id, limit=limit
        )
        return [_record(document) for document in found]

    async def claim(
        self,
        owner: str,
        seconds: float,
        *,
        run_id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[RunRecord, Lease] | None:
        """Claim the run with the id, or else the one that has been ready or overdue for longest.

        Args:
            owner: name of the claimer.
            seconds: duration of the lease.
            run_id: id of the run; any run that can continue, by default.
            names: names that the run may have; any by default.
            excluded_ids: ids of runs not to claim.
        """
        claimed = await self._documents.claim(
            _COLLECTION, owner, seconds, id=run_id, names=names, excluded_ids=excluded_ids
        )
        return None if claimed is None else (_record(claimed[0]), claimed[1])


@cache
def default_store() -> MemoryStore:
    """Return the store of runs outside of any platform or service."""
    return MemoryStore()


def _document(record: RunRecord) -> StoredDocument:
    return StoredDocument(
        collection=_COLLECTION,
        id=record.run_id,
        body=record.state,
        version=record.version,
        kind=record.kind,
        name=record.name,
        status=record.status,
        parent_id=record.parent_id,
        due_at=AT_ONCE if record.status in _RUNNABLE else None if record.has_ended else record.wakes_at,
        is_closed=record.has_ended,
    )


def _record(document: StoredDocument) -> RunRecord:
    return RunRecord(
        document.id,
        document.name,
        document.status,
        document.text,
        document.version,
        cast("Literal['run', 'process']", document.kind),
        document.parent_id,
        None if document.status in _RUNNABLE else document.due_at,
    )


def _conflict(record: RunRecord) -> RunConflictError:
    return RunConflictError(
        f"The run {record.run_id} has been changed by somebody else: load it again to see how it stands."
    )
