"""Connections to a database whose tables are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import URL, event, insert, make_url, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, InvalidRequestError, NoSuchModuleError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from tactician.errors import ConfigurationError, MissingExtraError
from tactician.stores import tables

_DRIVERS: Final = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
_BUSY_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.01
# Whoever comes first makes the tables, while the others wait. The number is one that no other program uses.
_BEGIN: Final = {
    "sqlite": ("BEGIN IMMEDIATE",),
    "postgresql": ("BEGIN", "SELECT pg_advisory_xact_lock(7208130311)"),
}


class Engines:
    """The connections to one database: a pool for each event loop that uses it.

    Raises:
        ConfigurationError: when the URL is not one of an SQLite file or a PostgreSQL database.
        MissingExtraError: when the driver is not installed.
    """

    def __init__(self, url: str | URL) -> None:
        self._url = _checked(url)
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()

    def __str__(self) -> str:
        return self._url.set(query={}).render_as_string(hide_password=True)

    async def current(self) -> AsyncEngine:
        """The engine of the running event loop. When it is first asked for, the tables are made."""
        pool = self._pools.get(loop := asyncio.get_running_loop())
        if pool is None:
            pool = self._pools[loop] = _Pool(self._url)
        return await pool.ready()

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        if (pool := self._pools.pop(asyncio.get_running_loop(), None)) is not None:
            await pool.aclose()


class _Pool:
    """The engine of one event loop. It is closed when the loop shuts down."""

    def __init__(self, url: URL) -> None:
        _check_folder(url)
        self._engine = _engine(url)
        self._opening = asyncio.Lock()
        self._keeper: AsyncGenerator[None] | None = None

    async def ready(self) -> AsyncEngine:
        if self._keeper is None:
            async with self._opening:
                if self._keeper is None:
                    # A loop closes every suspended async generator before it ends: so nobody has to close the store.
                    keeper = self._until_shutdown()
                    await anext(keeper)
                    self._keeper = keeper
        return self._engine

    async def aclose(self) -> None:
        if self._keeper is not None:
            await self._keeper.aclose()

    async def _until_shutdown(self) -> AsyncGenerator[None]:
        try:
            async with self._engine.connect() as connection:
                await _prepare(connection)
            yield
        finally:
            await self._engine.dispose()


async def _prepare(connection: AsyncConnection) -> None:
    if connection.dialect.name == "sqlite":
        await _switch_to_wal(connection)
    for statement in _BEGIN[connection.dialect.name]:
        await connection.exec_driver_sql(statement)
    await connection.run_sync(tables.metadata.create_all)
    version = await connection.scalar(select(tables.schema.c.version))
    if version is None:
        await connection.execute(insert(tables.schema).values(version=tables.SCHEMA_VERSION))
    elif version != tables.SCHEMA_VERSION:
        raise ConfigurationError(
            f"The tables of the store have version {version}, and this Tactician knows {tables.SCHEMA_VERSION}. "
            "Use the Tactician that made them, or another database."
        )
    await connection.exec_driver_sql("COMMIT")


async def _switch_to_wal(connection: AsyncConnection) -> None:
    # The mode stays with the file. Of several who switch a new file at once, SQLite lets all but one fail, unwaited.
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _BUSY_SECONDS
    while True:
        try:
            await connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            if "locked" not in str(error.orig) or loop.time() > deadline:
                raise
        await asyncio.sleep(_RETRY_SECONDS)


def _checked(given: str | URL) -> URL:
    try:
        url = make_url(given)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        if url.get_backend_name() not in _BEGIN:
            raise NoSuchModuleError
        create_async_engine(url)
    except (ArgumentError, NoSuchModuleError, InvalidRequestError):
        raise ConfigurationError(
            "The URL of a store is one such as sqlite:///runs.db or postgresql://user:password@host/database. "
            "If it names a driver, that is an asynchronous one of SQLAlchemy."
        ) from None
    except ModuleNotFoundError as error:
        hint = 'pip install "tactician[sql]" for SQLite, "tactician[postgres]" for PostgreSQL'
        raise MissingExtraError(f"A store needs {error.name}, which is not installed. Run: {hint}") from error
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise ConfigurationError("A store in SQLite needs a file, such as sqlite:///runs.db. In memory: MemoryRuns.")
    return url


def _check_folder(url: URL) -> None:
    if url.get_backend_name() == "sqlite" and "uri" not in url.query and url.database is not None:
        folder = Path(url.database).parent
        if not folder.is_dir():
            raise ConfigurationError(f"{url.database}: a store cannot be made here: there is no folder {folder}")


def _engine(url: URL) -> AsyncEngine:
    # Every statement is a transaction of its own: there is nothing to roll back when a connection is given back.
    common: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None, "hide_parameters": True}
    if url.get_backend_name() != "sqlite":
        return create_async_engine(url, **common, pool_pre_ping=True)
    # SQLite has one writer at a time. With one connection, those who wait inside this process do so here, in order.
    busy = {"timeout": _BUSY_SECONDS}
    engine = create_async_engine(url, **common, pool_size=1, max_overflow=0, connect_args=busy)
    event.listen(engine.sync_engine, "connect", _do_not_wait_for_the_disk)
    return engine


def _do_not_wait_for_the_disk(connection: DBAPIConnection, _: object) -> None:
    try:
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()
    except BaseException:  # nobody else closes a connection that fails here
        connection.close()
        raise
