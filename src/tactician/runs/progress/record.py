"""Records of runs, and the documents that they are stored as."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cache
from typing import Final

import pydantic
from pydantic_core import to_json

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.runs.outcomes.budget import NOTHING_SPENT, Spent
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.runs.progress.formats import STORED_FORMAT, Format, read_stored
from tactician.runs.progress.steps import Snapshot, read_snapshot
from tactician.stores.checks import translate_json_errors
from tactician.stores.document import AT_ONCE, Body, StoredDocument
from tactician.trace.capture import CaptureMode

RUNS: Final = "runs"
"""Collection of the documents."""
REQUEST_KIND: Final = "request"
"""Kind of runs that answer requests to agents. Each has the name of its agent, and a `Request` as its input."""
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
        user: id of the user that the run works for, if any.
        refuses_input: true when the run failed because a guardrail refused its input.
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
    user: str | None = None
    refuses_input: bool = False
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


def write_record(record: RunRecord) -> StoredDocument:
    """Return the document of a record.

    Raises:
        StoredStateError: when a value has no JSON form.
    """
    with translate_json_errors(f"The record of the run {record.run_id}"):
        header = to_json(replace(record.header, format=STORED_FORMAT)).decode()
    return StoredDocument(
        collection=RUNS,
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


def read_record(document: StoredDocument) -> RunRecord:
    """Return the record in a document.

    Raises:
        StoredStateError: when it cannot be read.
    """
    subject = f"The record of the run {document.id}"
    header = read_stored(document.header, _adapter(), subject)
    if type(document.priority) is not int:  # SQLite has columns of any type
        raise StoredStateError(f"{subject} cannot be read: its priority is {document.priority!r}, and no whole number")
    try:
        return _create_record(document, RunStatus(document.status), header)
    except ValueError as error:
        raise StoredStateError(f"{subject} cannot be read: {error}") from error


def read_record_or_problem(document: StoredDocument) -> RunRecord:
    """Return the record; if it is unreadable, what the store itself knows."""
    try:
        return read_record(document)
    except StoredStateError as error:
        statuses = [status for status in RunStatus if status == document.status]
        status = statuses[0] if statuses else RunStatus.STUCK  # not an ended status: it can be killed
        return replace(_create_record(document, status, RunHeader()), problem=str(error))


def _create_record(document: StoredDocument, status: RunStatus, header: RunHeader) -> RunRecord:
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


@cache
def _adapter() -> pydantic.TypeAdapter[RunHeader]:
    return pydantic.TypeAdapter(RunHeader)
