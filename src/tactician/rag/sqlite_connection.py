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
from tactician.rag.segmentation import separate_signs
from tactician.rag.stemming import WORD_TOKENIZER
from tactician.rag.word_query import WordQuery, WordSyntax

_VERSION: Final = 4
_WITH_RUNS_AS_WORDS: Final = 3
"""Version whose index has runs of signs without spaces, as in Chinese, as single words."""
_APPLICATION: Final = 0x54616352  # "TacR"
_TRIGGERS: Final = (
    """
    CREATE TRIGGER library_chunk_added AFTER INSERT ON library_chunks BEGIN
      INSERT INTO library_words (rowid, text) VALUES (new.id, separate_signs(new.text));
    END
    """,
    """
    CREATE TRIGGER library_chunk_removed AFTER DELETE ON library_chunks BEGIN
      INSERT INTO library_words (library_words, rowid, text) VALUES ('delete', old.id, separate_signs(old.text));
    END
    """,
)
_TABLES: Final = (
    "CREATE TABLE library_state (version INTEGER NOT NULL)",
    "INSERT INTO library_state VALUES (0)",
    """
    CREATE TABLE library_documents (
      id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
      fingerprint TEXT NOT NULL, chunks INTEGER NOT NULL, ingested_at REAL NOT NULL, metadata TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE library_sections (
      key TEXT PRIMARY KEY, document INTEGER NOT NULL REFERENCES library_documents ON DELETE CASCADE,
      position INTEGER NOT NULL, parent TEXT NOT NULL, path TEXT NOT NULL, text TEXT
    ) WITHOUT ROWID
    """,
    "CREATE INDEX library_sections_of_documents ON library_sections (document, position)",
    """
    CREATE TABLE library_chunks (
      id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES library_documents ON DELETE CASCADE,
      position INTEGER NOT NULL, section TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL, digest BLOB NOT NULL,
      UNIQUE (document, position)
    )
    """,
    "CREATE INDEX library_chunks_by_digest ON library_chunks (digest, document)",
    """
    CREATE TABLE library_vectors (
      model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (digest, model)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE library_models (model TEXT PRIMARY KEY, complete INTEGER NOT NULL)",
    f"""
    CREATE VIRTUAL TABLE library_words USING fts5(
      text, content='library_chunks', content_rowid='id', tokenize='{WORD_TOKENIZER}'
    )
    """,
    "CREATE TABLE library_vocabulary (word TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID",
    *_TRIGGERS,
)
_INDEX_ANEW: Final = (
    "DROP TRIGGER library_chunk_added",
    "DROP TRIGGER library_chunk_removed",
    "INSERT INTO library_words (library_words, rowid, text) "
    "SELECT 'delete', id, text FROM library_chunks WHERE separate_signs(text) <> text",
    "INSERT INTO library_words (rowid, text) "
    "SELECT id, separate_signs(text) FROM library_chunks WHERE separate_signs(text) <> text",
    *_TRIGGERS,
    f"PRAGMA user_version = {_VERSION}",
)
"""Statements that bring a library of the earlier version to this one."""
T = TypeVar("T")
MEMORY: Final = ":memory:"
_BUSY_SECONDS: Final = 30.0
_CACHE_KB: Final = 32 * 1024
_OWNER_ONLY: Final = 0o600
_MAX_RANKED: Final = 10_000
"""Chunks with the words of a query that are ranked, the newest ones. Each costs about a microsecond."""


def create_tables(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in a new file, or bring the tables of an earlier version to this one.

    Raises:
        ConfigurationError: when the file is something else.
    """
    connection.create_function("separate_signs", 1, separate_signs, deterministic=True)
    if _is_library(connection):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _is_library(connection):  # another process has been faster
            return
        if _read_marks(connection) == (_APPLICATION, _WITH_RUNS_AS_WORDS):
            for statement in _INDEX_ANEW:
                connection.execute(statement)
            return
        if not _is_empty(connection):
            raise ConfigurationError(f"{path}: this database is not a library of this version. Name another file.")
        for statement in (*_TABLES, f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}"):
            connection.execute(statement)


def _is_library(connection: sqlite3.Connection) -> bool:
    return _read_marks(connection) == (_APPLICATION, _VERSION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return _read_marks(connection) == (0, 0) and tables == (0,)


def _read_marks(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    return application, version


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
        rows = "FROM library_words WHERE library_words MATCH $1 ORDER BY rowid LIMIT"
        counts = {}
        for expression in expressions:
            ((count,),) = await self.fetch(f"SELECT count(*) FROM (SELECT 1 {rows} $2)", expression, most)
            if count == most:
                # The chunks after the last that was counted are taken to have the word as often as those before it.
                ((newest,),) = await self.fetch("SELECT max(id) FROM library_chunks")
                ((last,),) = await self.fetch(f"SELECT rowid {rows} 1 OFFSET $2", expression, most - 1)
                count = count * newest // last
            counts[expression] = count
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
