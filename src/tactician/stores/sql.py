"""Runs, processes and contexts in a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Executable, Row
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tactician.errors import LeaseLostError, RunConflictError, StoreError
from tactician.runs.store import ENDED, RUNNABLE, Lease, RunRecord, context_changed, run_changed, run_taken
from tactician.stores import tables
from tactician.stores.engines import Engines


class SqlRunStore:
    """Keeps runs, processes and contexts in an SQLite file or a PostgreSQL database. Its tables are made on first use.

    Several workers share a store, with PostgreSQL on several machines; the time of the database decides about leases.
    The extra `sql` brings what SQLite needs, `postgres` what PostgreSQL needs.

    An SQLite file is in WAL mode with `synchronous = NORMAL`: what was saved survives the death of a worker. When
    the machine itself stops, the last steps may be lost, and are done again; all of its workers have stopped then too.

    Args:
        url: for example `sqlite:///runs.db` or `postgresql://user:password@host/database`. One that names another
            asynchronous driver of SQLAlchemy, such as `postgresql+psycopg://...`, uses that one.

    Raises:
        ConfigurationError: when the URL is none of these.
        MissingExtraError: when the driver is not installed.
    """

    def __init__(self, url: str | URL) -> None:
        self._engines = Engines(url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._engines)!r})"

    async def load(self, run_id: str) -> RunRecord | None:
        """The record of a run; `None` when there is none."""
        rows = await self._rows(tables.LOAD, {"of_run": run_id})
        return _record(rows[0]) if rows else None

    async def save(self, record: RunRecord, lease: Lease | None = None) -> RunRecord:
        """Keeps a record; see `RunStore.save`."""
        values = _values(record)
        if lease is not None:
            held = {"of_run": record.run_id, "of_version": record.version, "of_fence": lease.fence}
            saved = await self._rows(tables.SAVE_HELD, values | held)
        elif record.version:
            saved = await self._rows(tables.SAVE, values | {"of_run": record.run_id, "of_version": record.version})
        else:
            saved = await self._rows(tables.ADD, values | {"run_id": record.run_id})
        if not saved:
            raise await self._refusal(record.run_id, lease)
        return replace(record, version=record.version + 1)

    async def add(self, record: RunRecord, owner: str, seconds: float) -> tuple[RunRecord, Lease]:
        """Keeps a new record, and takes its run at once; see `RunStore.add`."""
        values = _values(record) | {"run_id": record.run_id, "by": owner, "seconds": seconds}
        rows = await self._rows(tables.ADD_HELD, values)
        if not rows:
            raise run_changed(record.run_id)
        return replace(record, version=1), Lease(record.run_id, owner, rows[0].fence, rows[0].expires_at)

    async def delete(self, run_id: str) -> None:
        """Drops the record of a run, if there is one."""
        await self._rows(tables.DELETE, {"of_run": run_id})

    async def records(
        self, *, statuses: Collection[str] = (), names: Collection[str] = (), limit: int = 1000
    ) -> list[RunRecord]:
        """The records that have one of the statuses and names, oldest first; without any, all."""
        return [_record(row) for row in await self._rows(tables.records(statuses, names, limit), {})]

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
        statement = tables.claim(by_id=run_id is not None, by_name=bool(names), is_choosy=bool(passing_over))
        wanted = {"of_run": run_id, "names": list(names), "passed_over": list(passing_over)}
        rows = await self._rows(statement, wanted | {"by": owner, "seconds": seconds})
        if not rows:
            return None
        taken = rows[0]
        return _record(taken), Lease(taken.run_id, owner, taken.fence, taken.expires_at)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """The lease, valid for longer; see `RunStore.renew`."""
        rows = await self._rows(tables.RENEW, _held(lease) | {"seconds": seconds})
        if not rows:
            raise run_taken(lease.run_id)
        return replace(lease, expires_at=rows[0].expires_at)

    async def release(self, lease: Lease) -> None:
        """Gives a lease back; nothing happens when it was lost."""
        await self._rows(tables.RELEASE, _held(lease))

    async def load_context(self, context_id: str) -> tuple[str, int] | None:
        """The text of a context, and its version."""
        rows = await self._rows(tables.LOAD_CONTEXT, {"of_context": context_id})
        return (rows[0].state, rows[0].version) if rows else None

    async def save_context(self, context_id: str, text: str, version: int) -> int:
        """Keeps a context; see `RunStore.save_context`."""
        if version:
            changed = {"of_context": context_id, "of_version": version, "state": text}
            saved = await self._rows(tables.SAVE_CONTEXT, changed)
        else:
            saved = await self._rows(tables.ADD_CONTEXT, {"context_id": context_id, "state": text})
        if not saved:
            raise context_changed(context_id)
        return version + 1

    async def aclose(self) -> None:
        """Closes the connections of this event loop. They are also closed when the loop ends."""
        await self._engines.aclose()

    async def _refusal(self, run_id: str, lease: Lease | None) -> RunConflictError | LeaseLostError:
        if lease is not None:
            rows = await self._rows(tables.FENCE, {"of_run": run_id})
            if not rows or rows[0].fence != lease.fence:
                return run_taken(run_id)
        return run_changed(run_id)

    async def _rows(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """What a statement gives: nothing when it did not find its row, or the row that it adds is there."""
        try:
            return await self._engines.run(lambda connection: connection.execute(statement, values).all())
        except IntegrityError:
            return []
        except (SQLAlchemyError, OSError) as error:
            reason = getattr(error, "orig", None) or error
            raise StoreError(f"{self!r} does not answer: {reason}. What was to be saved may be kept or not.") from error


class SqliteProcessStore(SqlRunStore):
    """A `SqlRunStore` in a file, which is made on first use. It needs the extra `sql`.

    Raises:
        MissingExtraError: when the driver is not installed.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(URL.create("sqlite", database=str(path)))


def _record(row: Row[Any]) -> RunRecord:
    return RunRecord(row.run_id, row.name, row.status, row.state, row.version, row.kind, row.parent_id, row.wakes_at)


def _values(record: RunRecord) -> dict[str, object]:
    return {
        "name": record.name,
        "status": record.status,
        "state": record.state,
        "kind": record.kind,
        "parent_id": record.parent_id,
        "wakes_at": record.wakes_at,
        "runs": record.status in RUNNABLE,
        "wakes": None if record.status in ENDED else record.wakes_at,
    }


def _held(lease: Lease) -> dict[str, object]:
    return {"of_run": lease.run_id, "of_fence": lease.fence}
