"""Library in a PostgreSQL database, with pgvector and full-text search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from tactician.errors import ConfigurationError, StoreError
from tactician.extras import require_extra
from tactician.llm import Vector
from tactician.rag.chunk_store import ChunkStore, DocumentRecord, RankedChunk, StoreStatistics, TextToEmbed
from tactician.rag.elements import Chunk, ContentRoot, Section
from tactician.rag.filters import Filter, Where
from tactician.rag.operations import TOP_K, ChunkHit, SearchMethod, SearchResults
from tactician.rag.postgres_schema import (
    CHUNK_COLUMNS,
    CHUNKS,
    LOCK,
    RECORD_COLUMNS,
    SECTION_COLUMNS,
    TABLES,
    Parameters,
    build_condition,
    build_word_query,
)
from tactician.rag.regex_match import MAX_SECONDS, BoundedPattern
from tactician.rag.rows import (
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
from tactician.rag.similar_words import Vocabulary
from tactician.rag.text_query import ClauseKind, TextQuery

if TYPE_CHECKING:
    from asyncpg import Connection, Pool

_BATCH: Final = 2_000
_CONNECTIONS: Final = 8


class PostgresChunkStore(ChunkStore):
    """Documents in a PostgreSQL database with the extension pgvector. It needs the extra `postgres`.

    The tables, whose names begin with `library_`, are created on first use. Vectors are compared exactly.

    Args:
        url: for example `postgresql://user:password@host/database`.
        regex_seconds: the seconds that a search by a regular expression may take.
    """

    def __init__(self, url: str, *, regex_seconds: float = MAX_SECONDS) -> None:
        self._url = url
        self._regex_seconds = regex_seconds
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[Pool]] = WeakKeyDictionary()

    @property
    def url(self) -> str:
        """The URL of the database, with its password."""
        return self._url

    def __repr__(self) -> str:
        return "PostgresChunkStore()"  # the URL has a password in it

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if (opening := self._pools.pop(asyncio.get_running_loop(), None)) is not None:
            await (await opening).close()

    async def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address."""
        metadata = json.dumps(record.metadata, ensure_ascii=False)
        values = (root.uri, root.id, root.title, record.fingerprint, len(chunks), record.ingested_at, metadata)
        async with (await self._open()).acquire() as connection, connection.transaction():
            old = await _delete(connection, root.uri)
            document = await connection.fetchval(
                "INSERT INTO library_documents (uri, key, title, fingerprint, chunks, ingested_at, metadata) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb) RETURNING id",
                *values,
            )
            await connection.executemany(
                "INSERT INTO library_sections (key, document, position, parent, path, text) "
                "VALUES ($1, $2, $3, $4, $5, $6)",
                list(create_section_rows(root, document)),
            )
            await connection.executemany(
                "INSERT INTO library_chunks (document, position, section, path, text, digest) "
                "VALUES ($1, $2, $3, $4, $5, $6)",
                list(create_chunk_rows(chunks, document)),
            )
            await _remove_orphans(connection, old)

    async def remove(self, uri: str) -> bool:
        """Remove the document at an address, and return whether it was there."""
        async with (await self._open()).acquire() as connection, connection.transaction():
            is_there = await connection.fetchval("SELECT true FROM library_documents WHERE uri = $1", uri)
            await _remove_orphans(connection, await _delete(connection, uri))
        return bool(is_there)

    async def find_document(self, uri: str) -> DocumentRecord | None:
        """Return the entry of the document at an address, or `None`."""
        rows = await self._query(f"SELECT {RECORD_COLUMNS} WHERE uri = $1", uri)
        return parse_record(RecordRow(*rows[0])) if rows else None

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        rows = await self._query(f"SELECT {RECORD_COLUMNS} ORDER BY ingested_at, id")
        return tuple(parse_record(RecordRow(*row)) for row in rows)

    async def measure(self) -> StoreStatistics:
        """Return the size of the store."""
        ((documents, sections, chunks, characters),) = await self._query(
            "SELECT (SELECT count(*) FROM library_documents), "
            "(SELECT count(*) FROM library_sections WHERE text IS NOT NULL), "
            "count(*), coalesce(sum(length(text)), 0) FROM library_chunks"
        )
        vectors = await self._query("SELECT model, count(*) FROM library_vectors GROUP BY model")
        return StoreStatistics(
            documents=documents,
            sections=sections,
            chunks=chunks,
            characters=characters,
            vectors=dict(vectors),
        )

    async def read_chunks(self, numbers: Sequence[int]) -> Mapping[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        rows = await self._query(f"SELECT c.id, {CHUNK_COLUMNS} WHERE c.id = ANY($1::bigint[])", list(numbers))
        return {number: parse_chunk(ChunkRow(*row)) for number, *row in rows}

    async def find_words(self, query: TextQuery, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks with the words of a query, the best first, with scores relative to the best."""
        parameters = Parameters()
        words = build_word_query(query, parameters, await self._find_similar(query))
        condition = build_condition(where, parameters)
        rows = await self._query(
            f"WITH query AS (SELECT {words} AS words) "
            "SELECT c.id, ts_rank_cd(c.words, query.words, 1) + ts_rank(c.words, query.words) AS score "
            f"FROM {CHUNKS}, query WHERE c.words @@ query.words AND {condition} "
            f"ORDER BY score DESC, c.id LIMIT {parameters.add(top_k)}",
            *parameters.values,
        )
        best = max((score for _, score in rows), default=0.0) or 1.0
        return [RankedChunk(number, score / best) for number, score in rows]

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches; see `RegexSearch`.

        The texts are read and matched here, since the expressions of PostgreSQL are of another kind.
        """
        bounded, accepted = BoundedPattern(pattern, self._regex_seconds), Filter.of(where)
        selected: list[ChunkHit] = []
        after = 0
        while len(selected) < top_k:
            parameters = Parameters()
            rows = await self._query(
                f"SELECT c.id, {CHUNK_COLUMNS} WHERE c.id > {parameters.add(after)} "
                f"AND {build_condition(accepted, parameters)} ORDER BY c.id LIMIT {_BATCH}",
                *parameters.values,
            )
            if not rows:
                break
            after = rows[-1][0]
            chunks = [parse_chunk(ChunkRow(*row)) for _, *row in rows]
            matches = await asyncio.to_thread(bounded.select, [chunk.text for chunk in chunks])
            hits = [chunk for chunk, matched in zip(chunks, matches, strict=True) if matched]
            selected += [ChunkHit(chunk, 1.0, (SearchMethod.REGEX,)) for chunk in hits]
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
        if (parent := await self._find_parent(id)) is None:
            return None
        key = id.partition(".")[0]
        (row,) = await self._query(f"SELECT {RECORD_COLUMNS} WHERE key = $1", key)
        record = parse_record(RecordRow(*row))
        if not Filter.of(where).accepts(record.metadata):
            return None
        rows = await self._query(f"SELECT {SECTION_COLUMNS} WHERE d.key = $1 ORDER BY s.position", key)
        return build_element([SectionRow(*row) for row in rows], parent, record)

    async def list_unembedded(self, model: str, limit: int, after: bytes = b"") -> tuple[TextToEmbed, ...]:
        """Return at most `limit` different texts of chunks that have no vector of a model, in the order of hashes."""
        rows = await self._query(
            "SELECT digest, min(text) FROM library_chunks c WHERE digest > $1 AND NOT EXISTS "
            "(SELECT 1 FROM library_vectors v WHERE v.digest = c.digest AND v.model = $2) "
            "GROUP BY digest ORDER BY digest LIMIT $3",
            after,
            model,
            limit,
        )
        return tuple(TextToEmbed(*row) for row in rows)

    async def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts."""
        rows = [(digest, model, _format_vector(vector)) for digest, vector in vectors.items()]
        async with (await self._open()).acquire() as connection:
            await connection.executemany(
                "INSERT INTO library_vectors (digest, model, vector) VALUES ($1, $2, $3::text::halfvec) "
                "ON CONFLICT (digest, model) DO UPDATE SET vector = excluded.vector",
                rows,
            )

    async def find_nearest(self, model: str, vector: Vector, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks whose vectors of a model are nearest to a vector, with the cosines as scores."""
        parameters = Parameters()
        query, name = parameters.add(_format_vector(vector)), parameters.add(model)
        condition = build_condition(where, parameters)
        rows = await self._query(
            f"SELECT c.id, 1 - (v.vector <=> {query}::text::halfvec) AS score FROM {CHUNKS} "
            f"JOIN library_vectors v ON v.digest = c.digest AND v.model = {name} WHERE {condition} "
            f"ORDER BY score DESC, c.id LIMIT {parameters.add(top_k)}",
            *parameters.values,
        )
        return [RankedChunk(number, score) for number, score in rows]

    async def _find_similar(self, query: TextQuery) -> dict[str, list[str]]:
        """Return the words of the index that are similar to the fuzzy words of a query."""
        fuzzy = [clause.words[0] for clause in query.clauses if clause.kind is ClauseKind.FUZZY]
        if not fuzzy:
            return {}
        rows = await self._query("SELECT word FROM ts_stat('SELECT words FROM library_chunks')")
        vocabulary = await asyncio.to_thread(Vocabulary, [word for (word,) in rows])
        return {word: vocabulary.find_similar(word) for word in fuzzy}

    async def _find_parent(self, id: str) -> str | None:
        if (place := split_chunk_id(id)) is not None:
            chunks = await self._read_range(place[0], place[1], place[1])
            return chunks[0].parent_id if chunks else None
        rows = await self._query("SELECT parent FROM library_sections WHERE key = $1", id)
        return rows[0][0] if rows else None

    async def _read_range(self, key: str, first: int, last: int) -> tuple[Chunk, ...]:
        rows = await self._query(
            f"SELECT {CHUNK_COLUMNS} WHERE d.key = $1 AND c.position BETWEEN $2 AND $3 ORDER BY c.position",
            key,
            first,
            last,
        )
        return tuple(parse_chunk(ChunkRow(*row)) for row in rows)

    async def _query(self, statement: str, *values: object) -> list[Any]:
        async with (await self._open()).acquire() as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
        return rows

    async def _open(self) -> Pool:
        """Return the connections of the running event loop, which are opened on first use."""
        loop = asyncio.get_running_loop()
        if (opening := self._pools.get(loop)) is None:
            opening = self._pools[loop] = asyncio.ensure_future(_connect(self._url))
        try:
            return await asyncio.shield(opening)
        except BaseException:
            if opening.done():
                self._pools.pop(loop, None)
            raise


async def _connect(url: str) -> Pool:
    with require_extra("postgres", "A library in PostgreSQL needs"):
        import asyncpg
    pool = None
    try:
        pool = await asyncpg.create_pool(url, min_size=0, max_size=_CONNECTIONS, init=_prepare)
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            await connection.execute(TABLES)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        if pool is not None:
            await pool.close()
        raise _explain(error) from error
    return pool


def _explain(error: Exception) -> Exception:
    if "vector" in str(error) and "extension" in str(error):
        return ConfigurationError(
            "The PostgreSQL server has not the extension pgvector, which libraries need. Install it there."
        )
    return StoreError(f"The library in PostgreSQL cannot be opened: {type(error).__name__}: {error}")


async def _prepare(connection: Connection) -> None:
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")


async def _delete(connection: Any, uri: str) -> list[bytes]:  # noqa: ANN401 - a proxy of asyncpg
    """Remove a document, and return the hashes of its texts."""
    rows = await connection.fetch(
        "SELECT digest FROM library_chunks c JOIN library_documents d ON d.id = c.document WHERE d.uri = $1", uri
    )
    await connection.execute("DELETE FROM library_documents WHERE uri = $1", uri)
    return [digest for (digest,) in rows]


async def _remove_orphans(connection: Any, digests: list[bytes]) -> None:  # noqa: ANN401 - a proxy of asyncpg
    """Remove the vectors of texts that are in no chunk any more."""
    await connection.execute(
        "DELETE FROM library_vectors v WHERE v.digest = ANY($1::bytea[]) "
        "AND NOT EXISTS (SELECT 1 FROM library_chunks c WHERE c.digest = v.digest)",
        digests,
    )


def _format_vector(vector: Vector) -> str:
    return f"[{','.join(f'{number:.6g}' for number in vector)}]"
