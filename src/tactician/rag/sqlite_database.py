"""Work in the SQLite file of a library, all of it in the thread that the connection belongs to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tactician.llm import Vector
from tactician.rag.chunk_store import DocumentRecord, RankedChunk
from tactician.rag.elements import Chunk, ContentRoot, Metadata, Section
from tactician.rag.filters import Filter
from tactician.rag.fts_query import FtsIndex, build_fts_query
from tactician.rag.rows import (
    CHUNK_COLUMNS,
    RECORD_COLUMNS,
    SECTION_COLUMNS,
    ChunkRow,
    RecordRow,
    SectionRow,
    build_element,
    create_chunk_rows,
    create_section_rows,
    parse_chunk,
    parse_metadata,
    parse_record,
    split_chunk_id,
)
from tactician.rag.similar_words import Vocabulary
from tactician.rag.text_query import TextQuery
from tactician.rag.vector_index import VectorIndex, pack_vector

_TEXTS_AT_ONCE: Final = 2_000
_MOST_COUNTS: Final = 20_000
_MAX_RANKED: Final = 10_000
"""Chunks with the words of a query that are ranked, the newest ones. Each costs about a microsecond."""


class LibraryDatabase(FtsIndex):
    """Connection to the file of a library, with what is kept in memory of it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version: object = None
        self._metadata: dict[int, Metadata] | None = None
        self._words: Vocabulary | None = None
        self._counts: dict[str, int] = {}
        self._index: tuple[str, VectorIndex] | None = None

    def query(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement that only reads."""
        return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address; vectors of texts that stay are kept."""
        metadata = json.dumps(record.metadata, ensure_ascii=False)
        with self._write() as write:
            old = self._delete(root.uri)
            values = (root.uri, root.id, root.title, record.fingerprint, len(chunks), record.ingested_at, metadata)
            document = write("INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid or 0
            sections = create_section_rows(root, document)
            self._connection.executemany("INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", sections)
            self._connection.executemany(
                "INSERT INTO chunks (document, position, section, path, text, digest) VALUES (?, ?, ?, ?, ?, ?)",
                create_chunk_rows(chunks, document),
            )
            self._remove_orphans(old)

    def remove(self, uri: str) -> bool:
        """Remove a document, and return whether it was there."""
        with self._write():
            is_there = bool(self.query("SELECT 1 FROM documents WHERE uri = ?", uri))
            self._remove_orphans(self._delete(uri))
        return is_there

    def find_words(self, query: TextQuery, top_k: int, where: Filter) -> list[RankedChunk]:
        """Return the chunks with the words of a query, with scores relative to the best."""
        condition, values = self._limit_to(where)
        newest = (
            f"SELECT rowid, -bm25(words) AS score FROM words WHERE words MATCH ?{condition} "
            f"ORDER BY rowid DESC LIMIT {_MAX_RANKED}"
        )
        rows = self.query(
            f"SELECT rowid, score FROM ({newest}) ORDER BY score DESC, rowid LIMIT ?",
            build_fts_query(query, self),
            *values,
            top_k,
        )
        best = max((score for _, score in rows), default=0.0) or 1.0
        return [RankedChunk(number, score / best) for number, score in rows]

    def find_similar(self, word: str) -> Sequence[str]:
        """Return the words of the index that are similar to a word."""
        self._refresh()
        if self._words is None:
            self._words = Vocabulary(term for (term,) in self.query("SELECT term FROM vocabulary"))
        return self._words.find_similar(word)

    def count_rows(self, expression: str, most: int) -> int:
        """Return the number of chunks that an expression finds, at most `most`."""
        self._refresh()
        if (known := self._counts.get(expression)) is None:
            rows = "SELECT 1 FROM words WHERE words MATCH ? LIMIT ?"
            ((known,),) = self.query(f"SELECT count(*) FROM ({rows})", expression, most)
            if len(self._counts) < _MOST_COUNTS:
                self._counts[expression] = known
        return known

    def prepare_vectors(self, model: str, where: Filter) -> tuple[VectorIndex, set[int] | None]:
        """Return the vectors of a model, and the numbers of the documents that a filter accepts, or `None` for all."""
        return self._load_index(model), set(self._find_documents(where)) if where else None

    def read_chunks(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        condition = "c.id IN (SELECT value FROM json_each(?))"
        rows = self.query(f"SELECT c.id, {CHUNK_COLUMNS} WHERE {condition}", json.dumps(numbers))
        return {number: parse_chunk(ChunkRow(*row)) for number, *row in rows}

    def read_texts(self, after: int, where: Filter) -> list[tuple[int, str]]:
        """Return the numbers and texts of the next chunks after a number, in the order of ingestion."""
        condition, values = self._limit_to(where, "id")
        return self.query(
            f"SELECT id, text FROM chunks WHERE id > ?{condition} ORDER BY id LIMIT {_TEXTS_AT_ONCE}", after, *values
        )

    def zoom_out(self, id: str, where: Filter) -> Section | ContentRoot | None:
        """Return what is around a chunk or a section; `None` when there is nothing, or the filter refuses it."""
        if (parent := self._find_parent(id)) is None:
            return None
        key = id.partition(".")[0]
        (row,) = self.query(f"SELECT {RECORD_COLUMNS} WHERE key = ?", key)
        record = parse_record(RecordRow(*row))
        if not where.accepts(record.metadata):
            return None
        rows = self.query(f"SELECT {SECTION_COLUMNS} WHERE d.key = ? ORDER BY s.position", key)
        return build_element([SectionRow(*row) for row in rows], parent, record)

    def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts."""
        rows = [(model, digest, pack_vector(vector)) for digest, vector in vectors.items()]
        with self._write():
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    @contextmanager
    def _write(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Do all writes inside at once, or none of them."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection.execute
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        self._forget()

    def _delete(self, uri: str) -> list[tuple[bytes]]:
        """Remove a document, and return the hashes of its texts."""
        old = self.query("SELECT digest FROM chunks WHERE document = (SELECT id FROM documents WHERE uri = ?)", uri)
        self._connection.execute("DELETE FROM documents WHERE uri = ?", (uri,))
        return old

    def _remove_orphans(self, digests: Iterable[tuple[bytes]]) -> None:
        """Remove the vectors of texts that are in no chunk any more."""
        self._connection.executemany(
            "DELETE FROM vectors WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM chunks WHERE digest = ?1)", digests
        )

    def _forget(self) -> None:
        self._metadata = self._words = self._index = None
        self._counts.clear()

    def _refresh(self) -> None:
        """Forget what is in memory when another process has changed the file."""
        ((version,),) = self.query("PRAGMA data_version")
        if version != self._version:
            self._version = version
            self._forget()

    def _load_index(self, model: str) -> VectorIndex:
        self._refresh()
        if self._index is None or self._index[0] != model:
            rows = self._connection.execute(
                "SELECT c.id, c.document, v.vector FROM chunks c JOIN vectors v ON v.digest = c.digest AND v.model = ?",
                (model,),
            )
            self._index = model, VectorIndex(rows)
        return self._index[1]

    def _find_documents(self, where: Filter) -> list[int]:
        """Return the numbers of the documents that a filter accepts."""
        self._refresh()
        if self._metadata is None:
            rows = self.query("SELECT id, metadata FROM documents")
            self._metadata = {number: parse_metadata(metadata) for number, metadata in rows}
        return [number for number, metadata in self._metadata.items() if where.accepts(metadata)]

    def _limit_to(self, where: Filter, column: str = "rowid") -> tuple[str, tuple[str, ...]]:
        """Return a condition on chunks, and its values."""
        if not where:
            return "", ()
        documents = "SELECT value FROM json_each(?)"
        # The sign keeps SQLite from asking the index of words about each chunk of the documents, one after the other.
        condition = f" AND +{column} IN (SELECT id FROM chunks WHERE document IN ({documents}))"
        return condition, (json.dumps(self._find_documents(where)),)

    def _find_parent(self, id: str) -> str | None:
        """Return the id of the section around a chunk, or of the section or document around a section."""
        if (place := split_chunk_id(id)) is not None:
            rows = self.query(
                "SELECT c.section FROM chunks c JOIN documents d ON d.id = c.document "
                "WHERE d.key = ? AND c.position = ?",
                *place,
            )
        else:
            rows = self.query("SELECT parent FROM sections WHERE key = ?", id)
        return rows[0][0] if rows else None
