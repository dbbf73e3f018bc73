"""What a store holds of a process or a run, as far as it can be known without its agent."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.llm import ModelCatalog
from tactician.process import ProcessStatus, Snapshot, read_snapshot
from tactician.runs import PendingRequest, RunContext, RunRecord, RunStatus, RunStore, Services, pending_of
from tactician.stores import DocumentStore


@dataclass(frozen=True, slots=True)
class Kept:
    """A record, and what is in it.

    Attributes:
        snapshot: all of the process; `None` for the run of an agent, and for what cannot be read.
        pending: what it waits for.
        problem: why it cannot be read.
    """

    record: RunRecord
    snapshot: Snapshot | None = None
    pending: tuple[PendingRequest, ...] = ()
    problem: str | None = None

    @property
    def since(self) -> float | None:
        """When its last action ended, or else the process was made, in seconds since the epoch, if that is known."""
        if self.snapshot is None:
            return None
        ended = (run["started_at"] + run["seconds"] for run in self.snapshot["history"])
        return max(ended, default=self.snapshot.get("began_at"))


async def kept_in(store: DocumentStore, record: RunRecord) -> Kept:
    """What the record holds; with a problem, when it cannot be read."""
    try:
        if record.kind == "process":
            return _process(record)
        is_waiting = record.status == RunStatus.WAITING.value
        context = RunContext(Services(ModelCatalog(), store))
        return Kept(record, pending=await pending_of(record.name, record.run_id, context) if is_waiting else ())
    except StoredStateError as error:
        return Kept(record, problem=str(error))


async def found(store: DocumentStore, run_id: str) -> Kept:
    """What the store holds of a process or a run.

    Raises:
        RunNotFoundError: when it holds none with the id.
        StoredStateError: when that cannot be read.
    """
    record = await RunStore(store).load(run_id)
    if record is None:
        raise RunNotFoundError(f"There is no process with the id {run_id!r} in the store: see `tactician ps --all`.")
    kept = await kept_in(store, record)
    if kept.problem is not None:
        raise StoredStateError(kept.problem)
    return kept


def _process(record: RunRecord) -> Kept:
    snapshot = read_snapshot(record.state)
    is_waiting = record.status == ProcessStatus.WAITING.value
    pending = (request for one in snapshot["waiting"].values() for request in one["pending"])
    return Kept(record, snapshot, tuple(pending) if is_waiting else ())
