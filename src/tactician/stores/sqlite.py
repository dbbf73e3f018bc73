"""Document store in an SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet, finalize

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DatabaseError, OperationalError

from tactician.errors import ConfigurationError
from tactician.stores.sql import SqlStore
from tactician.stores.tables import create_tables
from tactician.suggestions import suggest_options

T = TypeVar("T")
_BUSY_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.01
_OWNER_ONLY: Final = 0o600


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
    to the thread and back, while an asynchronous driver goes there for each of its steps.
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
        worker = self._worker
        return await asyncio.get_running_loop().run_in_executor(worker.thread, worker.run, work)

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


class _Worker:
    def __init__(self, path: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-store")
        self._path = path
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = _open(self._path)
        return work(self._connection)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


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
