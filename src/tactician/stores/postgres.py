"""Document store in a PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, InvalidRequestError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.stores.sql import SqlStore
from tactician.stores.tables import create_tables

T = TypeVar("T")
_DRIVER: Final = "postgresql+asyncpg"
_DRIVERS: Final = {"postgresql": _DRIVER, "postgres": _DRIVER}
# The first who comes creates the tables, while the others wait. No other program uses this number.
_BEGIN: Final = "BEGIN", "SELECT pg_advisory_xact_lock(7208130311)"


class PostgresStore(SqlStore):
    """Documents in a PostgreSQL database, which workers on several machines may share. It needs the extra `postgres`.

    The tables are created on first use.

    Args:
        url: for example `postgresql://user:password@host/database`. A URL that names another asynchronous driver of
            SQLAlchemy, such as `postgresql+psycopg://...`, uses that driver.

    Raises:
        ConfigurationError: when the URL does not lead to a PostgreSQL database.
        MissingExtraError: when the driver is not installed.
    """

    def __init__(self, url: str) -> None:
        parsed = _parse_url(url)
        super().__init__(PostgresDatabase(parsed), parsed.set(query={}).render_as_string(hide_password=True))


class PostgresDatabase:
    """Pool of connections to a PostgreSQL database for each event loop that uses it."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run a function with a connection of the running event loop."""
        pool = self._pools.get(loop := asyncio.get_running_loop())
        if pool is None:
            pool = self._pools[loop] = _Pool(self._url)
        async with (await pool.open()).connect() as connection:
            return await connection.run_sync(work)

    async def aclose(self) -> None:
        """Close the connections of the running event loop. A loop that ends closes its connections itself."""
        if (pool := self._pools.pop(asyncio.get_running_loop(), None)) is not None:
            await pool.aclose()


class _Pool:
    """Connections of an event loop."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._opening = asyncio.Lock()
        self._engine: AsyncEngine | None = None
        self._closer: AsyncGenerator[AsyncEngine] | None = None

    async def open(self) -> AsyncEngine:
        if self._engine is None:
            async with self._opening:
                if self._engine is None:
                    # A loop closes every suspended async generator that is forgotten, or that is there when it ends.
                    closer = _open_until_shutdown(self._url)
                    self._engine = await anext(closer)
                    self._closer = closer
        return self._engine

    async def aclose(self) -> None:
        if self._closer is not None:
            await self._closer.aclose()


async def _open_until_shutdown(url: URL) -> AsyncGenerator[AsyncEngine]:
    engine = _create_engine(url)
    try:
        try:
            async with engine.connect() as connection:
                await connection.run_sync(create_tables, *_BEGIN)
        except TypeError as error:  # of the driver
            raise ConfigurationError(f"The URL of the store has an unknown option: {error}") from error
        yield engine
    finally:
        await engine.dispose()


def _create_engine(url: URL) -> AsyncEngine:
    # Every statement is a transaction of its own: there is nothing to roll back when a connection is returned.
    return create_async_engine(
        url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None, pool_pre_ping=True, hide_parameters=True
    )


def _parse_url(text: str) -> URL:
    try:
        url = make_url(text)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        if url.get_backend_name() != "postgresql":
            raise NoSuchModuleError
        with require_extra("postgres", "A store needs") if url.drivername == _DRIVER else nullcontext():
            _create_engine(url)
    except (ArgumentError, NoSuchModuleError, InvalidRequestError, ModuleNotFoundError, ValueError):
        raise ConfigurationError(
            "The URL of a PostgreSQL store looks like postgresql://user:password@host:5432/database, where special "
            "characters of the password are written as %40 and the like. If it names a driver, as postgresql+psycopg "
            "does, it must be an installed asynchronous driver of SQLAlchemy."
        ) from None
    if url.drivername == _DRIVER and "sslmode" in url.query:  # asyncpg has another name for what libpq calls so
        url = url.difference_update_query(["sslmode"]).update_query_dict({"ssl": url.query["sslmode"]})
    return url
