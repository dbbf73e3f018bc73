"""Connection to the SQLite file of a library, and its full-text index FTS5."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from tactician.errors import ConfigurationError
from tactician.rag.chunk_store import RankedChunk
from tactician.rag.library_connection import CHUNK_COLUMNS_TO_WRITE, ChunkToWrite, LibraryConnection
from tactician.rag.sqlite_schema import create_tables
from tactician.rag.word_query import WordQuery, WordSyntax

T = TypeVar("T")
MEMORY: Final = ":memory:"
_BUSY_SECONDS: Final = 30.0
_CACHE_KB: Final = 32 * 1024
_OWNER_ONLY: Final = 0o600
_MAX_RANKED: Final = 10_000
"""Chunks with the words of a query that are ranked, the newest ones. Each costs about a microsecond."""


class SqliteConnection(LibraryConnection):
    """Connection to an SQLite file. Nothing waits here: `complete` runs what is asynchronous elsewhere."""

    syntax = WordSyntax(quote='"', prefix="*", any_of=" OR ", all_of=" AND ", without=" NOT ")
    max_candidates = 4_000
    max_counted = 32_000

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def fetch(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        return self._connection.execute(_number(statement), values).fetchall()

    async def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""
        self._connection.executemany(_number(statement), rows)

    async def write_chunks(self, rows: Iterable[ChunkToWrite]) -> None:
        """Add chunks, and by a trigger their words to the index."""
        await self.write(f"INSERT INTO library_chunks ({CHUNK_COLUMNS_TO_WRITE}) VALUES ($1, $2, $3, $4, $5, $6)", rows)

    def write_at_once(self, work: Callable[[], T]) -> T:
        """Return the result of work whose writes are all done, or none of them."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work()
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return result

    def select_members(self, value: str, kind: str = "bigint") -> str:
        """Return the query for the column `member` with what is in a value of a statement, which is a list in JSON."""
        return f"SELECT value AS member FROM json_each({value})"

    def has_chunks(self, word: str) -> str:
        """Return the condition that the index has chunks with a word, which is a column."""
        return f"EXISTS (SELECT 1 FROM library_words WHERE library_words MATCH '\"' || {word} || '\"')"

    async def count_matches(self, expressions: Collection[str], most: int) -> dict[str, int]:
        """Return the numbers of chunks that expressions of the index find; what is more than `most` is estimated."""
        ((newest,),) = await self.fetch("SELECT max(id) FROM library_chunks")
        counts = {}
        for expression in expressions:
            rows = "SELECT rowid FROM library_words WHERE library_words MATCH $1 ORDER BY rowid LIMIT $2"
            ((count, last),) = await self.fetch(f"SELECT count(*), max(rowid) FROM ({rows})", expression, most)
            # The chunks after the last that was counted are taken to have the word as often as those before it.
            counts[expression] = count if count < most else count * newest // last
        return counts

    async def rank_matches(self, query: WordQuery, top_k: int, documents: str | None) -> list[RankedChunk]:
        """Return the best chunks of a query, with scores of any size."""
        limit = ""
        if documents is not None:
            # The sign keeps SQLite from asking the index about each chunk of the documents in turn.
            chunks = f"SELECT id FROM library_chunks WHERE document IN ({self.select_members('$3')})"
            limit = f"AND +rowid IN ({chunks})"
        rows = await self.fetch(
            "SELECT rowid, score FROM (SELECT rowid, -bm25(library_words) AS score FROM library_words "
            f"WHERE library_words MATCH $1 {limit} ORDER BY rowid DESC LIMIT {_MAX_RANKED}) "
            "ORDER BY score DESC, rowid LIMIT $2",
            query.expression,
            top_k,
            *([] if documents is None else [documents]),
        )
        return [RankedChunk(*row) for row in rows]

    def refresh_alone(self) -> AbstractAsyncContextManager[object]:
        """Return a context in which nobody else refreshes what is kept in memory."""
        return nullcontext()  # a single thread works here

    async def compute(self, work: Callable[[], T]) -> T:
        """Return the result of work that needs the processor only."""
        return work()


def complete(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("A coroutine in the thread of an SQLite file waits for something.")


def open_connection(path: str) -> SqliteConnection:
    """Open the file of a library, or create it.

    Raises:
        ConfigurationError: when the file cannot be used.
    """
    if path != MEMORY:
        _create_file(Path(path))
    connection = sqlite3.connect(path, _BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        _set_journal_mode(connection)
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        create_tables(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ConfigurationError(
            f"{path}: this file cannot be used as a library: {error}. Name another file, or move this file away."
        ) from error
    except BaseException:
        connection.close()
        raise
    return SqliteConnection(connection)


def _set_journal_mode(connection: sqlite3.Connection) -> None:
    """Set the mode, for which SQLite does not wait when another process does the same."""
    until = monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(0.01)
        else:
            return


def _create_file(path: Path) -> None:
    """Create the file, readable by its owner only."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY))
    except FileExistsError:
        if not path.is_file():
            raise ConfigurationError(f"{path}: this is not a file. Name a file for the library.") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: the library cannot be created: {error}. Name another file.") from error


def _number(statement: str) -> str:
    """Return a statement with its values numbered as SQLite does it."""
    return statement.replace("$", "?")
