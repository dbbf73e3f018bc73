"""Records of runs in a document store."""

from __future__ import annotations

from collections.abc import Collection, Sized
from dataclasses import field, replace
from functools import cache
from typing import Final

import pydantic
from pydantic_core import to_json

from tactician.errors import DocumentConflictError, RunConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.runs.budget import NOTHING_SPENT, Spent
from tactician.runs.formats import STORED_FORMAT, Format, read_stored
from tactician.runs.status import RunStatus
from tactician.runs.steps import LogSize, RunState, RunStep, Snapshot, fold, read_snapshot, read_step
from tactician.runs.suspension import PendingRequest
from tactician.stores import (
    AT_ONCE,
    Body,
    DocumentStore,
    Lease,
    MemoryStore,
    StoredDocument,
    StoredStep,
    list_documents,
    translate_json_errors,
)
from tactician.trace import CaptureMode

_COLLECTION: Final = "runs"
_PRUNED_AT_ONCE: Final = 1000
_RUNNABLE: Final = frozenset({RunStatus.RUNNING, RunStatus.NOT_STARTED})


@frozen(kw_only=True)
class RunHeader:
    """Part of a record that is read without the state of the run, and written whenever the status changes.

    Attributes:
        pending: requests that the run waits for, or part of a running run while other parts continue.
        failure: why the run failed, is stuck or was ended.
        output: beginning of the result, as text.
        started_at: seconds since the epoch.
        spent: usage of the run when its status last changed.
        deadline: seconds since the epoch by which the run has to end, waiting included.
        trace_parent: W3C trace context of the program that started the run.
        model: name of the model that takes the place of all others.
        forked_from: id and step of the run of its origin, if it is a fork.
        capture: how much of the run is captured, if it says so itself.
        format: version of the form that the header was read from.
    """

    pending: tuple[PendingRequest, ...] = ()
    failure: str | None = None
    output: str = ""
    started_at: float | None = None
    spent: Spent = field(default_factory=lambda: NOTHING_SPENT)
    deadline: float | None = None
    trace_parent: str | None = None
    model: str | None = None
    forked_from: tuple[str, int] | None = None
    capture: CaptureMode | None = None
    format: Format = field(default=1, repr=False)

    def find_wake_time(self, now: float) -> float | None:
        """Return when a run that waits continues without an answer: at the first deadline, of a request or of the run.

        The deadline of a request that has passed is of no use when not even the default was valid.
        """
        deadlines = [
            request.deadline
            for request in self.pending
            if request.deadline is not None
            and not request.is_answered
            and (request.problem is None or request.deadline > now)
        ]
        if self.deadline is not None:
            deadlines.append(self.deadline)
        return min(deadlines, default=None)


@frozen(kw_only=True)
class RunRecord:
    """Stored state of a run that is inside no other.

    Attributes:
        run_id: id of the run.
        name: name of the Runnable.
        status: status of the run; still `RUNNING` when its worker died, or when it was interrupted.
        kind: kind of Runnable, such as `"agent"` or `"process"`.
        version: number of saves; 0 for a new record.
        steps: number of steps in the log of the run.
        parent_id: id of the run that started it.
        priority: rank among the runs that workers may claim; the highest comes first.
        idempotency_key: key that no other run has.
        wakes_at: seconds since the epoch, by the store's clock, from which a run that waits may be claimed.
        updated_at: time of the last save, in seconds since the epoch.
        is_leased: true when a worker held the run as the record was read.
        owner: name of that worker; empty when none did.
        lease_ends_at: seconds since the epoch, by the store's clock, when its lease ends unless it is renewed.
        number: place of the record in the order in which runs were saved first.
        header: the rest of what is known without the state.
        problem: why the record cannot be read; then it has only what the store itself knows.
        body: state up to some step; `None` when it was not loaded, or is not to be saved again.
    """

    run_id: str
    name: str
    status: RunStatus
    kind: str = "run"
    version: int = 0
    steps: int = field(default=0, compare=False)
    parent_id: str | None = None
    priority: int = 0
    idempotency_key: str | None = None
    wakes_at: float | None = None
    updated_at: float = field(default=0.0, compare=False)
    is_leased: bool = field(default=False, compare=False)
    owner: str = field(default="", compare=False)
    lease_ends_at: float | None = field(default=None, compare=False)
    number: int = field(default=0, compare=False)
    header: RunHeader = field(default_factory=RunHeader)
    problem: str | None = None
    body: Body | None = field(default=None, repr=False, compare=False)

    @property
    def has_ended(self) -> bool:
        """True when the run cannot continue."""
        return self.status.is_terminal

    @property
    def can_resume(self) -> bool:
        """True for a run that waits or is paused, or of which a part waits for somebody while others continue."""
        asks = self.status is RunStatus.RUNNING and bool(self.header.pending)
        return asks or self.status in (RunStatus.WAITING, RunStatus.PAUSED)

    @property
    def snapshot(self) -> Snapshot | None:
        """The state in the body; `None` when the body was not loaded.

        Raises:
            StoredStateError: when it cannot be read.
        """
        return None if self.body is None else read_snapshot(self.body)

    @property
    def was_interrupted(self) -> bool:
        """True for a run that no worker holds although it is running: its worker died, or was interrupted."""
        return self.status is RunStatus.RUNNING and not self.is_leased


class RunStore:
    """Runs of a document store."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

    async def load(self, run_id: str, *, with_body: bool = True) -> RunRecord | None:
        """Return the record of a run, or `None`.

        Raises:
            StoredStateError: when the record cannot be read.
        """
        document = await self._documents.load(_COLLECTION, run_id, with_body=with_body)
        return None if document is None else _record(document)

    async def load_readable(self, run_id: str) -> RunRecord | None:
        """Return the record of a run without its body, or `None`; with a `problem`, when it cannot be read."""
        document = await self._documents.load(_COLLECTION, run_id, with_body=False)
        return None if document is None else _record_or_problem(document)

    async def load_state(self, record: RunRecord, at: int | None = None) -> RunState:
        """Return the state of a run after a step.

        Args:
            record: record of the run, with its body.
            at: number of the step; the last by default.

        Raises:
            StoredStateError: when the state cannot be read.
        """
        snapshot = record.snapshot
        if at is not None and snapshot is not None and snapshot.step > at:
            snapshot = None  # the steps alone have it too
        after = 0 if snapshot is None else snapshot.step
        stored = await self._documents.load_steps(_COLLECTION, record.run_id, after=after, until=at)
        steps = [read_step(step) for step in stored]
        sizes = (_measure_step(each.body, step) for each, step in zip(stored, steps, strict=True))
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
        stored = await self._documents.load_steps(_COLLECTION, run_id, after=after, until=until)
        return [read_step(step) for step in stored]

    async def load_attachment(self, run_id: str, name: str) -> bytes | None:
        """Return the content of a picture or file of a run, by its SHA-256 hash, or `None`."""
        return await self._documents.load_attachment(_COLLECTION, run_id, name)

    async def copy_steps(self, run_id: str, lease: Lease, *, until: int) -> None:
        """Append the first steps of a run to the empty log of another, unread."""
        for step in await self._documents.load_steps(_COLLECTION, run_id, until=until) if until else ():
            await self._documents.append(lease, step)

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Save a record whose version is still the stored version, and return it with its new version.

        Raises:
            RunConflictError: when the stored version differs.
            LeaseLostError: when the lease is not the newest of the run.
        """
        try:
            saved = await self._documents.save(_document(record), lease)
        except DocumentConflictError as error:
            raise _conflict(record.run_id) from error
        return replace(record, version=saved.version, body=None)

    async def add_and_claim(self, record: RunRecord, owner: str, seconds: float) -> tuple[RunRecord, Lease]:
        """Save a new record and claim its run in a single step.

        Raises:
            RunConflictError: when there is a record of the run, or of another run with its idempotency key.
        """
        try:
            saved, lease = await self._documents.add_and_claim(_document(record), owner, seconds)
        except DocumentConflictError as error:
            raise _conflict(record.run_id) from error
        return replace(record, version=saved.version, body=None), lease

    async def append(self, lease: Lease, number: int, step: RunStep) -> int:
        """Append a step to the log of a run, and return its size without events, where the store keeps text.

        Raises:
            RunConflictError: when the run was ended meanwhile.
            LeaseLostError: when the lease is not the newest of the run.
            StoredStateError: when a value has no JSON form.
        """
        body = step if self._documents.keeps_objects else step.to_json()
        try:
            await self._documents.append(lease, StoredStep(number, body))
        except DocumentConflictError as error:
            raise _conflict(lease.id) from error
        return _measure_step(body, step)

    def encode(self, snapshot: Snapshot) -> Body:
        """Return a snapshot as the store keeps it: as it is, or as text.

        Raises:
            StoredStateError: when a value has no JSON form.
        """
        return snapshot if self._documents.keeps_objects else snapshot.to_json()

    async def delete(self, run_id: str) -> None:
        """Delete a run, if it exists."""
        await self._documents.delete(_COLLECTION, run_id)

    async def prune(self, seconds: float) -> int:
        """Delete the runs that ended longer ago than so many seconds, some at a time; return how many."""
        deleted = last = await self._documents.prune(_COLLECTION, seconds, limit=_PRUNED_AT_ONCE)
        while last == _PRUNED_AT_ONCE:
            last = await self._documents.prune(_COLLECTION, seconds, limit=_PRUNED_AT_ONCE)
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
            _COLLECTION,
            statuses=statuses,
            names=names,
            parent_id=parent_id,
            key=idempotency_key,
            limit=limit,
            with_bodies=False,
            newest_first=newest_first,
            after=after,
        )
        return [_record_or_problem(document) for document in documents]

    async def count_statuses(self) -> dict[str, int]:
        """Return the number of runs with each status."""
        return await self._documents.count_statuses(_COLLECTION)

    @staticmethod
    def find_in_file(path: str, *, statuses: Collection[str] = (), limit: int = 1000) -> list[RunRecord] | None:
        """Return the records in an SQLite file as `find` does, without the numbers of their steps, and much sooner.

        Returns:
            `None` when the file cannot be read in this simple way.
        """
        documents = list_documents(path, _COLLECTION, statuses=statuses, limit=limit)
        return None if documents is None else [_record_or_problem(document) for document in documents]

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
        claimed = await self._documents.claim(
            _COLLECTION, owner, seconds, id=run_id, names=names, excluded_ids=excluded_ids
        )
        return None if claimed is None else (_record_or_problem(claimed[0]), claimed[1])


@cache
def default_store() -> MemoryStore:
    """Return the store of runs outside of any platform or service."""
    return MemoryStore()


def measure_body(body: Body | None) -> int:
    """Return the size of a body, where the store keeps text."""
    return len(body) if isinstance(body, Sized) else 0


def _measure_step(body: Body, step: RunStep) -> int:
    """Return the size of what a step adds to the state of a run, where the store keeps text."""
    return max(0, measure_body(body) - len(step.events))


def _document(record: RunRecord) -> StoredDocument:
    with translate_json_errors(f"The record of the run {record.run_id}"):
        header = to_json(replace(record.header, format=STORED_FORMAT)).decode()
    return StoredDocument(
        collection=_COLLECTION,
        id=record.run_id,
        body=record.body,
        header=header,
        version=record.version,
        kind=record.kind,
        name=record.name,
        status=record.status.value,
        parent_id=record.parent_id,
        key=record.idempotency_key,
        priority=record.priority,
        due_at=AT_ONCE if record.status in _RUNNABLE else None if record.has_ended else record.wakes_at,
        is_closed=record.has_ended,
    )


def _record(document: StoredDocument) -> RunRecord:
    subject = f"The record of the run {document.id}"
    header = read_stored(document.header, _adapter(), subject)
    try:
        return _record_of(document, RunStatus(document.status), header)
    except ValueError as error:
        raise StoredStateError(f"{subject} cannot be read: {error}") from error


def _record_or_problem(document: StoredDocument) -> RunRecord:
    """Return the record; if it is unreadable, what the store itself knows."""
    try:
        return _record(document)
    except StoredStateError as error:
        known = [status for status in RunStatus if status == document.status]
        status = known[0] if known else RunStatus.STUCK  # not an ended status: it can be killed
        return replace(_record_of(document, status, RunHeader()), problem=str(error))


def _record_of(document: StoredDocument, status: RunStatus, header: RunHeader) -> RunRecord:
    return RunRecord(
        run_id=document.id,
        name=document.name,
        status=status,
        kind=document.kind,
        version=document.version,
        steps=document.steps,
        parent_id=document.parent_id,
        priority=document.priority,
        idempotency_key=document.key,
        wakes_at=None if status in _RUNNABLE else document.due_at,
        updated_at=document.updated_at,
        is_leased=document.is_leased,
        owner=document.owner,
        lease_ends_at=document.lease_ends_at,
        number=document.number,
        header=header,
        body=document.body,
    )


def _conflict(run_id: str) -> RunConflictError:
    return RunConflictError(f"The run {run_id} was changed by another worker: load it again to see its status.")


@cache
def _adapter() -> pydantic.TypeAdapter[RunHeader]:
    return pydantic.TypeAdapter(RunHeader)
