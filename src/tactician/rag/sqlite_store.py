"""Library in an SQLite file, with its full-text index."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from weakref import finalize

from tactician.errors import StoreError
from tactician.rag.library_database import LibraryDatabase
from tactician.rag.library_memory import LibraryMemory
from tactician.rag.regex_match import MAX_SECONDS
from tactician.rag.sql_store import SqlChunkStore, Work
from tactician.rag.sqlite_connection import MEMORY, SqliteConnection, complete, open_connection
from tactician.suggestions import suggest_options

T = TypeVar("T")


@suggest_options
class SqliteChunkStore(SqlChunkStore):
    """Documents in an SQLite file, which several processes may share; in memory without a path.

    All that SQLite does is done in a thread of its own. Vectors are read into memory on the first search by them, and
    later the vectors of documents that are new.

    Args:
        path: the file, which is created on first use.
        regex_seconds: the seconds that a search by a regular expression may take.
    """

    def __init__(self, path: str | Path | None = None, *, regex_seconds: float = MAX_SECONDS) -> None:
        super().__init__(regex_seconds)
        self._path = MEMORY if path is None else str(path)
        self._start()

    @property
    def path(self) -> Path | None:
        """The file; `None` in memory."""
        return None if self._path == MEMORY else Path(self._path)

    def __repr__(self) -> str:
        return f"SqliteChunkStore({self._path!r})"

    async def aclose(self) -> None:
        """Close the file. What is in memory is gone."""
        worker, finalizer = self._worker, self._finalizer
        self._start()
        finalizer.detach()
        await asyncio.get_running_loop().run_in_executor(worker.thread, worker.close)
        worker.thread.shutdown(wait=False)

    def _start(self) -> None:
        self._worker = _Worker(self._path)
        self._finalizer = finalize(self, self._worker.close)

    async def _read(self, work: Work[T]) -> T:
        worker = self._worker
        return await asyncio.get_running_loop().run_in_executor(worker.thread, worker.read, work)

    async def _write(self, work: Work[T]) -> T:
        worker = self._worker
        return await asyncio.get_running_loop().run_in_executor(worker.thread, worker.write, work)


class _Worker:
    """Thread with the connection, which is opened on first use."""

    def __init__(self, path: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-library")
        self._path = path
        self._memory = LibraryMemory()
        self._connection: SqliteConnection | None = None

    def read(self, work: Work[T]) -> T:
        return self._run(lambda connection: complete(work(LibraryDatabase(connection, self._memory))))

    def write(self, work: Work[T]) -> T:
        return self._run(
            lambda connection: connection.write_at_once(
                lambda: complete(work(LibraryDatabase(connection, self._memory)))
            )
        )

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _run(self, work: Callable[[SqliteConnection], T]) -> T:
        if self._connection is None:
            self._connection = open_connection(self._path)
        try:
            return work(self._connection)
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self._path}: the library cannot be used: {error}") from error
