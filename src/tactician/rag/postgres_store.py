"""Library in a PostgreSQL database, with its full-text search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import log
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tactician.errors import StoreError
from tactician.extras import require_extra
from tactician.rag.chunk_store import RankedChunk
from tactician.rag.library_connection import CHUNK_COLUMNS_TO_WRITE, ChunkToWrite, LibraryConnection
from tactician.rag.library_database import LibraryDatabase
from tactician.rag.library_memory import LibraryMemory
from tactician.rag.postgres_schema import create_tables, index_words, normalize_words
from tactician.rag.regex_match import MAX_SECONDS
from tactician.rag.segmentation import drop_accents
from tactician.rag.sql_store import SqlChunkStore, Work
from tactician.rag.word_query import WordQuery, WordSyntax
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from asyncpg import Connection, Pool
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
_CONNECTIONS: Final = 8


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


@suggest_options
class PostgresChunkStore(SqlChunkStore):
    """Documents in a PostgreSQL database, which several processes may share. It needs the extra `postgres`.

    The tables, whose names begin with `library_`, are created on first use. Vectors are read into memory on the first
    search by them, and later the vectors of documents that are new.

    Args:
        url: for example `postgresql://user:password@host/database`.
        regex_seconds: the seconds that a search by a regular expression may take.
    """

    def __init__(self, url: str, *, regex_seconds: float = MAX_SECONDS) -> None:
        super().__init__(regex_seconds)
        self._url = url
        self._memory = LibraryMemory()
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[_Opened]] = WeakKeyDictionary()

    @property
    def url(self) -> str:
        """The URL of the database, with its password."""
        return self._url

    def __repr__(self) -> str:
        return "PostgresChunkStore()"  # the URL has a password in it

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if (opening := self._pools.pop(asyncio.get_running_loop(), None)) is not None:
            await (await opening).pool.close()

    async def _read(self, work: Work[T]) -> T:
        async with self._connect() as connection:
            return await work(LibraryDatabase(connection, self._memory))

    async def _write(self, work: Work[T]) -> T:
        async with self._connect() as connection, connection.transaction():
            return await work(LibraryDatabase(connection, self._memory))

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[PostgresConnection]:
        opened, asyncpg = await self._open(), _import_asyncpg()
        lost = (OSError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError)
        try:
            async with opened.pool.acquire() as connection:
                yield PostgresConnection(connection, opened.refreshing)
        except lost as error:
            raise StoreError(f"The library in PostgreSQL cannot be used: {type(error).__name__}: {error}") from error

    async def _open(self) -> _Opened:
        """Return the connections of the running event loop, which are opened on first use."""
        loop = asyncio.get_running_loop()
        if (opening := self._pools.get(loop)) is None:
            opening = self._pools[loop] = asyncio.ensure_future(_open_pool(self._url))
        try:
            return await asyncio.shield(opening)
        except BaseException:
            if opening.done():
                self._pools.pop(loop, None)
            raise


class _Opened(NamedTuple):
    pool: Pool
    refreshing: asyncio.Lock


async def _open_pool(url: str) -> _Opened:
    asyncpg, pool = _import_asyncpg(), None
    try:
        pool = await asyncpg.create_pool(
            url, min_size=0, max_size=_CONNECTIONS, init=prepare_connection, reset=keep_connection
        )
        async with pool.acquire() as connection, connection.transaction():
            await create_tables(connection)
    except BaseException as error:
        if pool is not None:
            await pool.close()
        if not isinstance(error, OSError | asyncpg.PostgresError | asyncpg.InterfaceError | ValueError):
            raise
        raise StoreError(f"The library in PostgreSQL cannot be opened: {type(error).__name__}: {error}") from error
    return _Opened(pool, asyncio.Lock())


def _import_asyncpg() -> Any:  # noqa: ANN401 - the module of an extra
    with require_extra("postgres", "A library in PostgreSQL needs"):
        import asyncpg
    return asyncpg
