"""Connection to the PostgreSQL database of a library, and its full-text search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from math import log
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tactician.rag.chunk_store import RankedChunk
from tactician.rag.library_connection import CHUNK_COLUMNS_TO_WRITE, ChunkToWrite, LibraryConnection
from tactician.rag.postgres_schema import index_words, normalize_words
from tactician.rag.segmentation import drop_accents
from tactician.rag.word_query import WordQuery, WordSyntax

if TYPE_CHECKING:
    from asyncpg import Connection
    from asyncpg.pool import PoolConnectionProxy

T = TypeVar("T")
_MAX_RANKED: Final = 10_000
"""Chunks with the words of a query that are ranked, the newest ones. Each costs some microseconds."""

_COUNT: Final = """
WITH common AS MATERIALIZED (
  SELECT quote_literal(lexeme) AS query, ceil(frequency * t.reltuples)::bigint AS number FROM pg_class t
  JOIN pg_namespace n ON n.oid = t.relnamespace
  JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = t.relname AND s.attname = 'words'
  CROSS JOIN unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) AS word(lexeme, frequency)
  WHERE t.oid = 'library_chunks'::regclass AND lexeme IS NOT NULL AND frequency * t.reltuples >= $2::bigint
), queries AS MATERIALIZED (
  SELECT expression, to_tsquery('english', expression) AS query FROM json_array_elements_text($1::json) AS expression
)
SELECT expression, coalesce((SELECT max(number) FROM common WHERE common.query = queries.query::text), (
  SELECT count(*) FROM (SELECT 1 FROM library_chunks c WHERE c.words @@ queries.query LIMIT $2::bigint) AS matches
)) FROM queries
"""
"""Count of the chunks with each query. Of single words that the server knows as common, its estimate is taken."""


class PostgresConnection(LibraryConnection):
    """Connection of a pool.

    Args:
        connection: the connection.
        refreshing: the lock of those who refresh what is kept in memory.
    """

    syntax = WordSyntax(quote="'", prefix=":*", any_of=" | ", all_of=" & ", without=" & !", normalize=drop_accents)
    max_candidates = 1_000
    max_counted = 1_000

    def __init__(self, connection: PoolConnectionProxy, refreshing: asyncio.Lock) -> None:
        self._connection = connection
        self._refreshing = refreshing

    async def fetch(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        rows: list[Any] = await self._connection.fetch(statement, *values)
        return rows

    async def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""
        await self._connection.executemany(statement, rows)

    async def write_chunks(self, rows: Iterable[ChunkToWrite]) -> None:
        """Add chunks with the words in them."""
        await self.write(
            f"INSERT INTO library_chunks ({CHUNK_COLUMNS_TO_WRITE}, words) "
            f"VALUES ($1, $2, $3, $4, $5, $6, {index_words('$7')})",
            ((*row, normalize_words(row.text)) for row in rows),
        )

    def select_members(self, value: str, kind: str = "bigint") -> str:
        """Return the query for the column `member` with what is in a value of a statement, which is a list in JSON."""
        return f"SELECT member::{kind} FROM json_array_elements_text({value}::json) AS member"

    def has_chunks(self, word: str) -> str:
        """Return the condition that the index has chunks with a word, which is a column."""
        return f"EXISTS (SELECT 1 FROM library_chunks c WHERE c.words @@ plainto_tsquery('english', {word}))"

    def transaction(self) -> AbstractAsyncContextManager[object]:
        """Return a transaction: what is written in it is written at once, or not at all."""
        transaction: AbstractAsyncContextManager[object] = self._connection.transaction()
        return transaction

    async def count_matches(self, expressions: Collection[str], most: int) -> dict[str, int]:
        """Return the numbers of chunks that expressions of the index find, each at most `most`."""
        counted = await self.fetch(_COUNT, json.dumps(list(expressions)), most)
        return dict(counted)

    async def rank_matches(self, query: WordQuery, top_k: int, documents: str | None) -> list[RankedChunk]:
        """Return the best chunks of a query, with scores of any size: each part counts the more the rarer it is."""
        values: list[object] = [query.candidates, top_k]

        def add(value: object) -> str:
            values.append(value)
            return f"${len(values)}"

        scores = [
            f"ts_rank(words, to_tsquery('english', {add(part)}), 1) * {add(log(1 + query.total / (count + 1)))}::float8"
            for part, count in query.counts.items()
            if count
        ]
        limit = "" if documents is None else f"AND document IN ({self.select_members(add(documents))})"
        rows = await self.fetch(
            f"SELECT id, {' + '.join(scores) or '0::float8'} AS score FROM (SELECT id, words FROM library_chunks "
            f"WHERE words @@ to_tsquery('english', $1) {limit} ORDER BY id DESC LIMIT {_MAX_RANKED}) AS newest "
            "ORDER BY score DESC, id LIMIT $2",
            *values,
        )
        return [RankedChunk(*row) for row in rows]

    def refresh_alone(self) -> AbstractAsyncContextManager[object]:
        """Return a context in which nobody else refreshes what is kept in memory."""
        return self._refreshing

    async def compute(self, work: Callable[[], T]) -> T:
        """Return the result of work that needs the processor only, and must not hold up others."""
        return await asyncio.to_thread(work)


async def prepare_connection(connection: Connection) -> None:
    """Prepare a new connection of a pool."""
    # Plans for the words of a query are better than plans for any words, and are made faster than machine code.
    await connection.execute("SET plan_cache_mode = force_custom_plan; SET jit = off")


async def keep_connection(connection: Connection) -> None:
    """Return a connection to its pool with its settings, which are all that was changed."""
