"""Library in an SQLite file, with its full-text index."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import finalize

from tactician.errors import ConfigurationError, StoreError
from tactician.llm import Vector
from tactician.rag.chunk_store import ChunkStore, DocumentRecord, RankedChunk, StoreStatistics, TextToEmbed
from tactician.rag.elements import Chunk, ContentRoot, Section
from tactician.rag.filters import Filter, Where
from tactician.rag.operations import TOP_K, ChunkHit, SearchMethod, SearchResults
from tactician.rag.regex_match import MAX_SECONDS, BoundedPattern
from tactician.rag.rows import (
    CHUNK_COLUMNS,
    RECORD_COLUMNS,
    ChunkRow,
    RecordRow,
    parse_chunk,
    parse_record,
    split_chunk_id,
)
from tactician.rag.sqlite_database import LibraryDatabase
from tactician.rag.sqlite_schema import create_tables
from tactician.rag.text_query import TextQuery

T = TypeVar("T")
_BUSY_SECONDS: Final = 30.0
_OWNER_ONLY: Final = 0o600
MEMORY: Final = ":memory:"


class SqliteChunkStore(ChunkStore):
    """Documents in an SQLite file, which several processes may share; in memory without a path.

    All that SQLite does is done in a thread of its own. Vectors are read into memory on the first search by them, and
    again after another process has changed the file.

    Args:
        path: the file, which is created on first use.
        regex_seconds: the seconds that a search by a regular expression may take.
    """

    def __init__(self, path: str | Path | None = None, *, regex_seconds: float = MAX_SECONDS) -> None:
        self._regex_seconds = regex_seconds
        self._path = MEMORY if path is None else str(path)
        self._start()

    @property
    def path(self) -> Path | None:
        """The file; `None` in memory."""
        return None if self._path == MEMORY else Path(self._path)

    def _start(self) -> None:
        self._worker = _Worker(self._path)
        self._finalizer = finalize(self, self._worker.close)

    def __repr__(self) -> str:
        return f"SqliteChunkStore({self._path!r})"

    async def aclose(self) -> None:
        """Close the file. What is in memory is gone."""
        worker, finalizer = self._worker, self._finalizer
        self._start()
        finalizer.detach()
        await asyncio.get_running_loop().run_in_executor(worker.thread, worker.close)
        worker.thread.shutdown(wait=False)

    async def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address."""
        await self._run(lambda database: database.save(root, chunks, record))

    async def remove(self, uri: str) -> bool:
        """Remove the document at an address, and return whether it was there."""
        return await self._run(lambda database: database.remove(uri))

    async def find_document(self, uri: str) -> DocumentRecord | None:
        """Return the entry of the document at an address, or `None`."""
        rows = await self._query(f"SELECT {RECORD_COLUMNS} WHERE uri = ?", uri)
        return parse_record(RecordRow(*rows[0])) if rows else None

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        rows = await self._query(f"SELECT {RECORD_COLUMNS} ORDER BY ingested_at, id")
        return tuple(parse_record(RecordRow(*row)) for row in rows)

    async def measure(self) -> StoreStatistics:
        """Return the size of the store."""
        ((documents, sections, chunks, characters),) = await self._query(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections WHERE text IS NOT NULL), "
            "count(*), coalesce(sum(length(text)), 0) FROM chunks"
        )
        vectors = await self._query("SELECT model, count(*) FROM vectors GROUP BY model")
        return StoreStatistics(
            documents=documents, sections=sections, chunks=chunks, characters=characters, vectors=dict(vectors)
        )

    async def read_chunks(self, numbers: Sequence[int]) -> Mapping[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        return await self._run(lambda database: database.read_chunks(numbers))

    async def find_words(self, query: TextQuery, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks with the words of a query, the best first."""
        return await self._run(lambda database: database.find_words(query, top_k, where))

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches; see `RegexSearch`."""
        bounded, accepted = BoundedPattern(pattern, self._regex_seconds), Filter.of(where)
        selected: list[ChunkHit] = []
        after = 0
        while len(selected) < top_k:
            if not (batch := await self._read_texts(after, accepted)):
                break
            after = batch[-1][0]
            matches = await asyncio.to_thread(bounded.select, [text for _, text in batch])
            numbers = [number for (number, _), matched in zip(batch, matches, strict=True) if matched]
            chunks = await self.read_chunks(numbers[: top_k - len(selected)])
            selected += [ChunkHit(chunks[each], 1.0, (SearchMethod.REGEX,)) for each in numbers if each in chunks]
        return SearchResults(tuple(selected[:top_k]), SearchMethod.REGEX)

    async def load_chunks(self, ids: Sequence[str], *, where: Where = None) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist and that the filter accepts."""
        accepted = Filter.of(where)
        places = [place for place in map(split_chunk_id, ids) if place is not None]
        chunks = [chunk for key, position in places for chunk in await self._read_range(key, position, position)]
        return tuple(chunk for chunk in chunks if accepted.accepts(chunk.metadata))

    async def expand(self, id: str, count: int = 1, *, where: Where = None) -> tuple[Chunk, ...]:
        """Return a chunk with `count` chunks before it and after it; empty when there is no such chunk."""
        if (place := split_chunk_id(id)) is None:
            return ()
        key, position = place
        chunks = await self._read_range(key, position - count, position + count)
        is_found = any(chunk.id == id and Filter.of(where).accepts(chunk.metadata) for chunk in chunks)
        return chunks if is_found else ()

    async def zoom_out(self, id: str, *, where: Where = None) -> Section | ContentRoot | None:
        """Return the section around a chunk, or the section or document around a section, or `None`."""
        return await self._run(lambda database: database.zoom_out(id, Filter.of(where)))

    async def list_unembedded(self, model: str, limit: int, after: bytes = b"") -> tuple[TextToEmbed, ...]:
        """Return at most `limit` different texts of chunks that have no vector of a model, in the order of hashes."""
        rows = await self._query(
            "SELECT digest, text FROM chunks c WHERE digest > ? AND NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.digest = c.digest AND v.model = ?) "
            "GROUP BY digest ORDER BY digest LIMIT ?",
            after,
            model,
            limit,
        )
        return tuple(TextToEmbed(*row) for row in rows)

    async def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts."""
        await self._run(lambda database: database.save_vectors(model, vectors))

    async def find_nearest(self, model: str, vector: Vector, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks whose vectors of a model are nearest to a vector, with the cosines as scores."""
        index, documents = await self._run(lambda database: database.prepare_vectors(model, where))
        # Comparing needs the processor only: it goes on beside the work of SQLite.
        return await asyncio.to_thread(index.find_nearest, vector, top_k, documents)

    async def _run(self, work: Callable[[LibraryDatabase], T]) -> T:
        worker = self._worker
        return await asyncio.get_running_loop().run_in_executor(worker.thread, worker.run, work)

    async def _query(self, statement: str, *values: object) -> list[Any]:
        return await self._run(lambda database: database.query(statement, *values))

    async def _read_texts(self, after: int, where: Filter) -> list[tuple[int, str]]:
        return await self._run(lambda database: database.read_texts(after, where))

    async def _read_range(self, key: str, first: int, last: int) -> tuple[Chunk, ...]:
        rows = await self._query(
            f"SELECT {CHUNK_COLUMNS} WHERE d.key = ? AND c.position BETWEEN ? AND ? ORDER BY c.position",
            key,
            first,
            last,
        )
        return tuple(parse_chunk(ChunkRow(*row)) for row in rows)


class _Worker:
    """Thread with the connection, which is opened on first use."""

    def __init__(self, path: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-library")
        self._path = path
        self._database: LibraryDatabase | None = None

    def run(self, work: Callable[[LibraryDatabase], T]) -> T:
        if self._database is None:
            self._database = LibraryDatabase(_open(self._path))
        try:
            return work(self._database)
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self._path}: the library cannot be used: {error}") from error

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()


def _open(path: str) -> sqlite3.Connection:
    if path != MEMORY:
        _create_file(Path(path))
    connection = sqlite3.connect(path, _BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_mode = WAL")
        create_tables(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ConfigurationError(
            f"{path}: this file cannot be used as a library: {error}. Name another file, or move this file away."
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _create_file(path: Path) -> None:
    """Create the file, readable by its owner only."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY))
    except FileExistsError:
        if not path.is_file():
            raise ConfigurationError(f"{path}: this is not a file. Name a file for the library.") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: the library cannot be created: {error}. Name another file.") from error
