"""Work in the database of a library, the same for SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from tactician.llm.embeddings.model import Vector
from tactician.rag.chunk_store import DocumentRecord, RankedChunk, StoreStatistics, TextToEmbed
from tactician.rag.elements import Chunk, ContentRoot, Section
from tactician.rag.filters import Filter
from tactician.rag.library_connection import LibraryConnection
from tactician.rag.library_memory import LibraryMemory, read_version
from tactician.rag.rescoring import WeighedClause, score_texts
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
    parse_record,
    split_chunk_id,
)
from tactician.rag.similar_words import Vocabulary, list_words
from tactician.rag.text_query import TextQuery
from tactician.rag.vector_index import VectorIndex, pack_vectors
from tactician.rag.word_query import WordClauses, weigh_clauses

_TEXTS_AT_ONCE: Final = 2_000
_RESCORED: Final = 50
"""Chunks at the top of the ranking of the index whose texts are scored. Each costs about 0.1 milliseconds."""
_LACKS_VECTOR: Final = (
    "c.document > $2 AND NOT EXISTS (SELECT 1 FROM library_vectors v WHERE v.digest = c.digest AND v.model = $1)"
)


class _Removed(NamedTuple):
    document: int
    texts: Sequence[TextToEmbed]


class LibraryDatabase:
    """Database of a library, with what the process keeps of it in memory.

    Args:
        connection: the connection. What writes is called in a transaction.
        memory: the memory.
    """

    def __init__(self, connection: LibraryConnection, memory: LibraryMemory) -> None:
        self._connection = connection
        self._memory = memory
        self._fetch = connection.fetch

    async def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address; vectors of texts that stay are kept."""
        write, document = self._connection.write, await self._begin_version()
        old = await self._delete(root.uri)
        metadata = json.dumps(record.metadata, ensure_ascii=False)
        values = (root.uri, root.id, root.title, record.fingerprint, len(chunks), record.ingested_at, metadata)
        await write("INSERT INTO library_documents VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", [(document, *values)])
        sections = create_section_rows(root, document)
        await write("INSERT INTO library_sections VALUES ($1, $2, $3, $4, $5, $6)", sections)
        await self._connection.write_chunks(create_chunk_rows(chunks, document))
        words = list_words(chunk.text for chunk in chunks)
        await self._add_words(words, document)
        await self._remove_orphans(old, words, document)

    async def remove(self, uri: str) -> bool:
        """Remove a document, and return whether it was there."""
        version = await self._begin_version()
        old = await self._delete(uri)
        await self._remove_orphans(old, set(), version)
        return old is not None

    async def find_document(self, uri: str) -> DocumentRecord | None:
        """Return the entry of the document at an address, or `None`."""
        rows = await self._fetch(f"SELECT {RECORD_COLUMNS} WHERE uri = $1", uri)
        return parse_record(RecordRow(*rows[0])) if rows else None

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        rows = await self._fetch(f"SELECT {RECORD_COLUMNS} ORDER BY ingested_at, id")
        return tuple(parse_record(RecordRow(*row)) for row in rows)

    async def measure(self) -> StoreStatistics:
        """Return the size of the library."""
        ((documents, sections, chunks, characters),) = await self._fetch(
            "SELECT (SELECT count(*) FROM library_documents), "
            "(SELECT count(*) FROM library_sections WHERE text IS NOT NULL), "
            "count(*), coalesce(sum(length(text)), 0) FROM library_chunks"
        )
        vectors = await self._fetch("SELECT model, count(*) FROM library_vectors GROUP BY model")
        return StoreStatistics(
            documents=documents,
            sections=sections,
            chunks=chunks,
            characters=characters,
            vectors=dict(vectors),
        )

    async def read_chunks(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        chosen = self._connection.select_members("$1")
        rows = await self._fetch(f"SELECT c.id, {CHUNK_COLUMNS} WHERE c.id IN ({chosen})", json.dumps(numbers))
        return {number: parse_chunk(ChunkRow(*row)) for number, *row in rows}

    async def read_range(self, key: str, first: int, last: int) -> tuple[Chunk, ...]:
        """Return the chunks of a document from a position to another."""
        rows = await self._fetch(
            f"SELECT {CHUNK_COLUMNS} WHERE d.key = $1 AND c.position BETWEEN $2 AND $3 ORDER BY c.position",
            key,
            first,
            last,
        )
        return tuple(parse_chunk(ChunkRow(*row)) for row in rows)

    async def read_texts(self, after: int, where: Filter) -> list[tuple[int, str]]:
        """Return the numbers and texts of the next chunks after a number, in the order of ingestion."""
        texts = "SELECT id, text FROM library_chunks WHERE id > $1"
        last = f"ORDER BY id LIMIT {_TEXTS_AT_ONCE}"
        if (documents := await self._memory.find_documents(self._connection, where)) is None:
            return await self._fetch(f"{texts} {last}", after)
        chosen = self._connection.select_members("$2")
        return await self._fetch(f"{texts} AND document IN ({chosen}) {last}", after, json.dumps(documents))

    async def zoom_out(self, id: str, where: Filter) -> Section | ContentRoot | None:
        """Return what is around a chunk or a section; `None` when there is nothing, or the filter refuses it."""
        if (parent := await self._find_parent(id)) is None:
            return None
        key = id.partition(".")[0]
        (row,) = await self._fetch(f"SELECT {RECORD_COLUMNS} WHERE key = $1", key)
        record = parse_record(RecordRow(*row))
        if not where.accepts(record.metadata):
            return None
        rows = await self._fetch(f"SELECT {SECTION_COLUMNS} WHERE d.key = $1 ORDER BY s.position", key)
        return build_element([SectionRow(*row) for row in rows], parent, record)

    async def list_unembedded(self, model: str, limit: int, after: bytes) -> tuple[TextToEmbed, ...]:
        """Return at most `limit` different texts of chunks that have no vector of a model, in the order of hashes."""
        rows = await self._fetch(
            f"SELECT digest, min(text) FROM library_chunks c WHERE {_LACKS_VECTOR} AND digest > $3 "
            "GROUP BY digest ORDER BY digest LIMIT $4",
            model,
            await self._read_complete(model),
            after,
            limit,
        )
        return tuple(TextToEmbed(*row) for row in rows)

    async def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts."""
        version = await self._begin_version()
        await self._connection.write(
            "INSERT INTO library_vectors (digest, model, vector) VALUES ($1, $2, $3) "
            "ON CONFLICT (digest, model) DO UPDATE SET vector = excluded.vector",
            ((digest, model, packed) for digest, packed in zip(vectors, pack_vectors(vectors.values()), strict=True)),
        )
        await self._note_complete(model, version)

    async def load_vocabulary(self) -> Vocabulary:
        """Return the words of the library, for a look at those that are similar to a word."""
        return await self._memory.load_words(self._connection)

    async def find_words(
        self, query: TextQuery, similar: Mapping[str, Sequence[str]], top_k: int, where: Filter
    ) -> list[RankedChunk]:
        """Return the chunks with the words of a query, with scores relative to the best.

        Args:
            query: the query.
            similar: the words of the library that are similar to fuzzy words of the query.
            top_k: the largest number of chunks.
            where: a filter on metadata.
        """
        connection = self._connection
        clauses = WordClauses.of(query, connection.syntax, similar)
        counts, total = await self._memory.count_matches(connection, clauses.ranked, connection.max_counted + 1)
        words = clauses.combine(connection.syntax, counts, total, connection)
        documents = await self._memory.find_documents(connection, where)
        limit = None if documents is None else json.dumps(documents)
        ranked = await connection.rank_matches(words, max(top_k, _RESCORED), limit)
        weighed = weigh_clauses(query, connection.syntax, similar, words)
        ranked = await self._rescore(ranked, weighed, query.order)
        best = max((score for _, score in ranked), default=0.0) or 1.0
        return [RankedChunk(number, score / best) for number, score in ranked[:top_k]]

    async def load_vectors(self, model: str, where: Filter) -> tuple[VectorIndex, list[int] | None]:
        """Return the vectors of a model, and the numbers of the documents that a filter accepts, or `None` for all."""
        index = await self._memory.load_vectors(self._connection, model)
        return index, await self._memory.find_documents(self._connection, where)

    async def _rescore(
        self, ranked: Sequence[RankedChunk], clauses: Sequence[WeighedClause], order: Sequence[str]
    ) -> list[RankedChunk]:
        """Return chunks by the scores of their texts, the best first."""
        chosen = self._connection.select_members("$1")
        texts: list[tuple[int, str]] = await self._fetch(
            f"SELECT id, text FROM library_chunks WHERE id IN ({chosen})", json.dumps([each.number for each in ranked])
        )
        scores = await self._connection.compute(lambda: score_texts([text for _, text in texts], clauses, order))
        if not any(scores):  # what the index takes for words of the query are others by the rules for scores
            return list(ranked)
        rescored = [RankedChunk(number, score) for (number, _), score in zip(texts, scores, strict=True)]
        return sorted(rescored, key=lambda chunk: (-chunk.score, chunk.number))

    async def _begin_version(self) -> int:
        """Begin a new version of the library, and return its number. Other writers wait until it is complete."""
        await self._connection.write("UPDATE library_state SET version = version + $1", [(1,)])
        return await read_version(self._connection)

    async def _read_complete(self, model: str) -> int:
        """Return a version whose documents all have vectors of a model."""
        rows = await self._fetch("SELECT complete FROM library_models WHERE model = $1", model)
        return rows[0][0] if rows else 0

    async def _note_complete(self, model: str, version: int) -> None:
        """Note that all documents have vectors of a model, if they have: only newer ones are looked at later."""
        complete = await self._read_complete(model)
        if not await self._fetch(f"SELECT 1 FROM library_chunks c WHERE {_LACKS_VECTOR} LIMIT 1", model, complete):
            await self._connection.write(
                "INSERT INTO library_models VALUES ($1, $2) "
                "ON CONFLICT (model) DO UPDATE SET complete = excluded.complete",
                [(model, version)],
            )

    async def _delete(self, uri: str) -> _Removed | None:
        """Remove a document, and return what it had; `None` when it was not there."""
        documents = await self._fetch("SELECT id FROM library_documents WHERE uri = $1", uri)
        if not documents:
            return None
        ((document,),) = documents
        texts = await self._fetch("SELECT digest, text FROM library_chunks WHERE document = $1", document)
        await self._connection.write("DELETE FROM library_documents WHERE id = $1", [(document,)])
        return _Removed(document, [TextToEmbed(*row) for row in texts])

    async def _add_words(self, words: Collection[str], version: int) -> None:
        """Add those words to the vocabulary that are not there."""
        await self._connection.write(
            "INSERT INTO library_vocabulary (word, version) "
            f"SELECT member, CAST($2 AS bigint) FROM ({self._connection.select_members('$1', 'text')}) AS words "
            "WHERE true ON CONFLICT (word) DO NOTHING",
            [(json.dumps(list(words)), version)],
        )

    async def _remove_orphans(self, removed: _Removed | None, kept: Collection[str], version: int) -> None:
        """Remove the vectors of texts that are in no chunk any more, and their words.

        Args:
            removed: the document that is gone, if there was any.
            kept: words that are known to be in chunks.
            version: the version of the library.
        """
        if removed is None:
            return
        await self._connection.write(
            "DELETE FROM library_vectors WHERE digest = $1 "
            "AND NOT EXISTS (SELECT 1 FROM library_chunks WHERE digest = $1)",
            [(each.digest,) for each in removed.texts],
        )
        words, members = list_words(each.text for each in removed.texts), self._connection.select_members("$1", "text")
        # The version of a word is not less than the number of the oldest document with it: where a document has a
        # greater number, another document has the word too.
        doubtful = await self._fetch(
            f"SELECT word FROM library_vocabulary WHERE word IN ({members}) AND version >= $2",
            json.dumps(list(words)),
            removed.document,
        )
        await self._remove_words([word for (word,) in doubtful if word not in kept])
        rows = [(json.dumps([word for (word,) in doubtful]), version)]
        await self._connection.write(f"UPDATE library_vocabulary SET version = $2 WHERE word IN ({members})", rows)

    async def _remove_words(self, words: Sequence[str]) -> None:
        """Remove words from the vocabulary that are in no chunk."""
        members = self._connection.select_members("$1", "text")
        orphans = f"SELECT member FROM ({members}) AS words WHERE NOT {self._connection.has_chunks('member')}"
        statement = f"DELETE FROM library_vocabulary WHERE word IN ({orphans})"
        await self._connection.write(statement, [(json.dumps(words),)])

    async def _find_parent(self, id: str) -> str | None:
        """Return the id of the section around a chunk, or of the section or document around a section."""
        if (place := split_chunk_id(id)) is not None:
            key, position = place
            chunks = await self.read_range(key, position, position)
            return chunks[0].parent_id if chunks else None
        rows = await self._fetch("SELECT parent FROM library_sections WHERE key = $1", id)
        return rows[0][0] if rows else None
