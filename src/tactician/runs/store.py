"""Where runs that wait are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from tactician.errors import RunConflictError
from tactician.runs.result import RunStatus


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as it is kept.

    Attributes:
        run_id: whose record it is.
        name: what is run.
        status: `WAITING`, or `RUNNING` while somebody has taken it up again.
        state: what it has done so far, as JSON.
        version: counts the changes of the record; a new one has 0.
    """

    run_id: str
    name: str
    status: RunStatus
    state: str
    version: int = 0


class RunStore(Protocol):
    """Keeps the records of runs."""

    async def load(self, run_id: str) -> RunRecord | None:
        """The record of a run; `None` when there is none."""
        ...

    async def save(self, record: RunRecord) -> RunRecord:
        """Keeps a record, unless somebody else has changed it since it was loaded; the record with its new version.

        Raises:
            RunConflictError: when the kept record has another version.
        """
        ...

    async def delete(self, run_id: str) -> None:
        """Drops the record of a run, if there is one."""
        ...

    async def waiting(self) -> list[RunRecord]:
        """The records of all runs that wait, oldest first."""
        ...


class MemoryRuns:
    """Keeps runs in this process, as long as it lives."""

    def __init__(self) -> None:
        self._records: dict[str, RunRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    async def load(self, run_id: str) -> RunRecord | None:
        """The record of a run; `None` when there is none."""
        return self._records.get(run_id)

    async def save(self, record: RunRecord) -> RunRecord:
        """Keeps a record, unless it was changed since it was loaded.

        Raises:
            RunConflictError: when the kept record has another version.
        """
        kept = self._records.get(record.run_id)
        if (0 if kept is None else kept.version) != record.version:
            raise RunConflictError(
                f"The run {record.run_id} has been changed by somebody else: load it again to see how it stands."
            )
        saved = self._records[record.run_id] = replace(record, version=record.version + 1)
        return saved

    async def delete(self, run_id: str) -> None:
        """Drops the record of a run, if there is one."""
        self._records.pop(run_id, None)

    async def waiting(self) -> list[RunRecord]:
        """The records of all runs that wait, oldest first."""
        return [record for record in self._records.values() if record.status is RunStatus.WAITING]


@cache
def default_store() -> MemoryRuns:
    """The store of runs that were given no other."""
    return MemoryRuns()
