"""Library in a PostgreSQL database, with its full-text search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tactician.errors import StoreError
from tactician.extras import require_extra
from tactician.rag.library_database import LibraryDatabase
from tactician.rag.library_memory import LibraryMemory
from tactician.rag.postgres_connection import PostgresConnection, keep_connection, prepare_connection
from tactician.rag.postgres_schema import create_tables
from tactician.rag.regex_match import MAX_SECONDS
from tactician.rag.sql_store import SqlChunkStore, Work
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from asyncpg import Pool

T = TypeVar("T")
_CONNECTIONS: Final = 8


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
