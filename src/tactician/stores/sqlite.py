"""Document store in an SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet, finalize

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DatabaseError, OperationalError

from tactician.errors import ConfigurationError
from tactician.stores.document_writes import transaction
from tactician.stores.sql import SqlStore
from tactician.stores.tables import create_tables
from tactician.suggestions import suggest_options

T = TypeVar("T")
_BUSY_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.01
_OWNER_ONLY: Final = 0o600
_MOST_AT_ONCE: Final = 64
"""Number of writes in a transaction at most: programs beside this one wait for its end."""


@suggest_options
class SqliteStore(SqlStore):
    """Documents in an SQLite file, which several processes of a machine may share. It needs the extra `sql`.

    The file is created on first use, readable by its owner only. It is in WAL mode with `synchronous = NORMAL`: what
    was saved survives the death of a worker. When the machine itself stops, the last steps may be lost, and are done
    again; all workers of the store have stopped then too.

    Args:
        path: the file; `file:...?mode=ro` is a URI of SQLite.

    Raises:
        ConfigurationError: when the path does not lead to a file.
        MissingExtraError: when SQLAlchemy is not installed.
    """

    def __init__(self, path: str | Path) -> None:
        name = str(path)
        if name in ("", ":memory:"):
            raise ConfigurationError("A SqliteStore needs a file, such as 'runs.db'. In memory: MemoryStore().")
        super().__init__(SqliteDatabase(name), name)


class SqliteDatabase:
    """Connection to an SQLite file, in a thread of its own.

    SQLite has a single writer at a time: the writers of this program wait here, in order. A statement is a single way
    to the thread and back, while an asynchronous driver goes there for each of its steps. What waits when the thread is
    free is done in one transaction, so that many runs at once need few of them; nobody's work is done before it ends.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._start()
        _databases.add(self)

    def _start(self) -> None:
        # The thread starts, and the file is opened, on first use. A store that is forgotten, or that is there when the
        # program ends, is closed by whichever thread notices: it must not wait for a lock, such as an executor's.
        # The thread ends with its executor.
        self._worker = _Worker(self._path)
        self._finalizer = finalize(self, self._worker.close)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run a function with the connection, in its thread."""
        return await self._worker.add(work)

    async def aclose(self) -> None:
        """Close the connection after all work that has begun, and end the thread."""
        worker, finalizer = self._worker, self._finalizer
        self._start()
        finalizer.detach()
        await asyncio.get_running_loop().run_in_executor(worker.thread, worker.close)
        worker.thread.shutdown(wait=False)

    def leave_to_parent(self) -> None:
        """Start again in a forked program, which has no threads, and must not use or close its parent's connection."""
        self._finalizer.detach()
        _inherited.append(self._worker)
        self._start()


class _Job(Generic[T]):
    """Work with a connection, which somebody waits for in an event loop."""

    __slots__ = ("_error", "_result", "future", "work")

    def __init__(self, work: Callable[[Connection], T]) -> None:
        self.work = work
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        """Do the work, in the thread."""
        self._result = self.work(connection)

    def fail(self, error: BaseException) -> None:
        """Remember why the work failed, in the thread."""
        self._error = error

    def finish(self) -> None:
        """Tell who waits, in the event loop."""
        if self.future.cancelled():
            return
        if self._error is None:
            self.future.set_result(self._result)
        else:
            self.future.set_exception(self._error)


class _Worker:
    def __init__(self, path: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-store")
        self._path = path
        self._connection: Connection | None = None
        self._jobs: list[_Job[Any]] = []
        self._lock = Lock()
        self._is_busy = False

    def add(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Let the thread do some work; return its result."""
        job = _Job(work)
        with self._lock:
            self._jobs.append(job)
            starts, self._is_busy = not self._is_busy, True
        if starts:
            self.thread.submit(self._work)
        return job.future

    def _work(self) -> None:
        """Do what waits, and what is added meanwhile."""
        while jobs := self._take_jobs():
            try:
                self._run(jobs)
            except BaseException as error:  # who waits raises it
                for job in jobs:
                    job.fail(error)
            for loop, finished in _group_by_loop(jobs).items():
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(_finish, finished)

    def _take_jobs(self) -> list[_Job[Any]]:
        with self._lock:
            jobs, self._jobs = self._jobs[:_MOST_AT_ONCE], self._jobs[_MOST_AT_ONCE:]
            self._is_busy = bool(jobs)
        return jobs

    def _run(self, jobs: Sequence[_Job[Any]]) -> None:
        if self._connection is None:
            self._connection = _open(self._path)
        if len(jobs) > 1 and _run_in_one(self._connection, jobs):
            return
        for job in jobs:
            try:
                job.run(self._connection)
            except BaseException as error:  # who waits raises it
                job.fail(error)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _run_in_one(connection: Connection, jobs: Sequence[_Job[Any]]) -> bool:
    """Do some work in one transaction; return whether it is done. When any of it fails, nothing is."""
    try:
        with transaction(connection):
            for job in jobs:
                job.run(connection)
    except Exception:  # each is done by itself then, and its own error counts
        return False
    return True


def _group_by_loop(jobs: Iterable[_Job[Any]]) -> dict[asyncio.AbstractEventLoop, list[_Job[Any]]]:
    groups: dict[asyncio.AbstractEventLoop, list[_Job[Any]]] = {}
    for job in jobs:
        groups.setdefault(job.future.get_loop(), []).append(job)
    return groups


def _finish(jobs: Iterable[_Job[Any]]) -> None:
    for job in jobs:
        job.finish()


_databases: Final[WeakSet[SqliteDatabase]] = WeakSet()
_inherited: Final[list[_Worker]] = []


def _leave_to_parent() -> None:
    for database in _databases:
        database.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _open(path: str) -> Connection:
    if not (is_uri := path.startswith("file:")):
        _create_file(Path(path))
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, is_uri),
        poolclass=NullPool,
        # Every statement is a transaction of its own.
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
    )
    try:
        connection = engine.connect()
        try:
            _switch_to_wal(connection)
            create_tables(connection, "BEGIN IMMEDIATE")
        except BaseException:
            connection.close()
            raise
    except DatabaseError as error:
        if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
            raise
        raise ConfigurationError(
            f"{path}: this file is not an SQLite database. Name another file for the store, or move this file away."
        ) from None
    return connection


def _create_file(path: Path) -> None:
    """Create the file, readable by its owner only. SQLite gives its log the same permissions."""
    try:
        os.close(os.open(path.resolve(), os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY))
    except FileExistsError:
        if not path.is_file():
            raise ConfigurationError(f"{path}: this is not a file. Name a file for the store.") from None
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: the store cannot be created: there is no folder {path.parent}. Create it, or name another file."
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path}: the store cannot be created: {reason}. Name another file.") from error


def _connect(path: str, is_uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, _BUSY_SECONDS, check_same_thread=False, uri=is_uri)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")  # do not wait for the disk
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _switch_to_wal(connection: Connection) -> None:
    # The mode stays with the file. Of several who switch a new file at once, SQLite lets all but the first fail without
    # waiting.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)
