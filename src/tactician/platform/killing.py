"""The end of runs of a platform for good, wherever they run."""

from __future__ import annotations

from contextlib import suppress

from tactician.errors import RunConflictError, RunNotFoundError, StoredStateError
from tactician.events.bus import EventEmitter
from tactician.llm.usage import UsageTally
from tactician.platform.lookup import ACTIVE, RunLookup
from tactician.process import ProcessStatus
from tactician.runs import RunEnded, RunStatus, Services
from tactician.runs.life.holding import kill_run
from tactician.runs.progress.record import RunRecord


class Killer:
    """End of runs.

    Args:
        lookup: runs of the platform.
        services: services of the platform.
    """

    def __init__(self, lookup: RunLookup, services: Services) -> None:
        self._lookup = lookup
        self._services = services

    async def kill(self, process_id: str, reason: str) -> ProcessStatus:
        """End a run for good, wherever it runs; return its status then.

        Raises:
            RunNotFoundError: when the run does not exist.
            RunConflictError: when it changes too fast.
        """
        process = self._lookup.processes.find(process_id)
        if process is not None and (not self._services.is_durable or process.status in ACTIVE):
            with suppress(RunConflictError):  # it has continued elsewhere
                await process.kill(reason)
            self._lookup.processes.rest(process)
        if self._services.is_durable:
            record = await self._find_readable(process_id)
            if await kill_run(self._services.store, process_id, reason):
                if process is not None:
                    await process.kill(reason)
                # Otherwise the program that runs it reports the end.
                if record is not None and (record.status not in ACTIVE or not record.is_leased):
                    self._report_end(record, reason)
            return (await self._lookup.record(process_id)).status
        if process is None:
            raise RunNotFoundError(f"There is no process with the id {process_id!r}")
        return process.status

    async def _find_readable(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, or `None` when this program cannot read it."""
        try:
            return await self._lookup.record(run_id)
        except StoredStateError:
            return None

    def _report_end(self, record: RunRecord, reason: str) -> None:
        """Report that a run was killed which nobody runs, so that no other event says so."""
        services = self._services
        emitter = EventEmitter(services.bus, record.run_id, (record.name,), services.clock, record.parent_id)
        spent = record.header.spent
        emitter.emit(
            RunEnded,
            status=RunStatus.KILLED,
            kind=record.kind,
            seconds=spent["seconds"],
            tally=UsageTally.of(spent["usage"]),
            error=reason,
        )
