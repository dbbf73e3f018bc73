"""The connections of each event loop to a database whose tables are there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, insert, make_url, select
from sqlalchemy.exc import ArgumentError, InvalidRequestError, NoSuchModuleError, OperationalError

from tactician.errors import ConfigurationError, MissingExtraError
from tactician.stores import tables
from tactician.stores.connections import BUSY_SECONDS, Connections, connections_to, server_engine

T = TypeVar("T")
_SQLITE: Final = "sqlite"
_DRIVERS: Final = {
    "sqlite+aiosqlite": _SQLITE,
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
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

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What the work gives with a connection of the running event loop. At first the tables are made."""
        pool = self._pools.get(loop := asyncio.get_running_loop())
        if pool is None:
            pool = self._pools[loop] = _Pool(self._url)
        return await (await pool.ready()).run(work)

    async def aclose(self) -> None:
        """Closes the connections of the running event loop."""
        if (pool := self._pools.pop(asyncio.get_running_loop(), None)) is not None:
            await pool.aclose()


class _Pool:
    """The connections of one event loop. They are closed when the loop shuts down."""

    def __init__(self, url: URL) -> None:
        _check_folder(url)
        self._url = url
        self._opening = asyncio.Lock()
        self._connections: Connections | None = None
        self._keeper: AsyncGenerator[Connections] | None = None

    async def ready(self) -> Connections:
        if self._connections is None:
            async with self._opening:
                if self._connections is None:
                    # A loop closes every suspended async generator before it ends: so nobody has to close the store.
                    keeper = self._until_shutdown()
                    self._connections = await anext(keeper)
                    self._keeper = keeper
        return self._connections

    async def aclose(self) -> None:
        if self._keeper is not None:
            await self._keeper.aclose()

    async def _until_shutdown(self) -> AsyncGenerator[Connections]:
        connections = connections_to(self._url)
        try:
            await connections.run(_prepare)
            yield connections
        finally:
            await connections.aclose()


def _prepare(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        _switch_to_wal(connection)
    for statement in _BEGIN[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    tables.metadata.create_all(connection)
    version = connection.scalar(select(tables.schema.c.version))
    if version is None:
        connection.execute(insert(tables.schema).values(version=tables.SCHEMA_VERSION))
    elif version != tables.SCHEMA_VERSION:
        raise ConfigurationError(
            f"The tables of the store have version {version}, and this Tactician knows {tables.SCHEMA_VERSION}. "
            "Use the Tactician that made them, or another database."
        )
    connection.exec_driver_sql("COMMIT")


def _switch_to_wal(connection: Connection) -> None:
    # The mode stays with the file. Of several who switch a new file at once, SQLite lets all but one fail, unwaited.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)


def _checked(given: str | URL) -> URL:
    try:
        url = make_url(given)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        if url.drivername != _SQLITE:
            if url.get_backend_name() != "postgresql":
                raise NoSuchModuleError
            server_engine(url)
    except (ArgumentError, NoSuchModuleError, InvalidRequestError):
        raise ConfigurationError(
            "The URL of a store is one such as sqlite:///runs.db or postgresql://user:password@host/database. "
            "If it names a driver, that is an asynchronous one of SQLAlchemy."
        ) from None
    except ModuleNotFoundError as error:
        hint = 'pip install "tactician[sql]" for SQLite, "tactician[postgres]" for PostgreSQL'
        raise MissingExtraError(f"A store needs {error.name}, which is not installed. Run: {hint}") from error
    if url.drivername == _SQLITE and url.database in (None, "", ":memory:"):
        raise ConfigurationError("A store in SQLite needs a file, such as sqlite:///runs.db. In memory: MemoryRuns.")
    return url


def _check_folder(url: URL) -> None:
    if url.drivername == _SQLITE and "uri" not in url.query and url.database is not None:
        folder = Path(url.database).parent
        if not folder.is_dir():
            raise ConfigurationError(f"{url.database}: a store cannot be made here: there is no folder {folder}")
