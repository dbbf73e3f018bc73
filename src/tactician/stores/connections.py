"""Connections to a database, for one event loop, which never waits for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
BUSY_SECONDS: Final = 30.0
# Every statement is a transaction of its own: there is nothing to roll back when a connection is given back.
_COMMON: Final[dict[str, Any]] = {
    "isolation_level": "AUTOCOMMIT",
    "pool_reset_on_return": None,
    "hide_parameters": True,
}


class Connections(Protocol):
    """Runs what works with a connection."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What the work gives."""
        ...

    async def aclose(self) -> None:
        """Closes the connections."""
        ...


def connections_to(url: URL) -> Connections:
    """Connections that are made when they are needed."""
    return _SqliteThread(url) if url.get_backend_name() == "sqlite" else _ServerPool(url)


def server_engine(url: URL) -> AsyncEngine:
    """An engine with an asynchronous driver."""
    from sqlalchemy.ext.asyncio import create_async_engine  # needs more than SQLite does

    return create_async_engine(url, **_COMMON, pool_pre_ping=True)


class _ServerPool:
    """Connections to a server."""

    def __init__(self, url: URL) -> None:
        self._engine = server_engine(url)

    async def run(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def aclose(self) -> None:
        await self._engine.dispose()


class _SqliteThread:
    """One connection in a thread of its own.

    SQLite has one writer at a time: those who wait inside this process do so here, in order. A statement is one way to
    the thread and back, while an asynchronous driver goes there for each of its steps.
    """

    def __init__(self, url: URL) -> None:
        busy = {"timeout": BUSY_SECONDS}
        self._engine = create_engine(url, **_COMMON, pool_size=1, max_overflow=0, connect_args=busy)
        event.listen(self._engine, "connect", _do_not_wait_for_the_disk)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tactician-store")

    async def run(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        self._thread.shutdown()


def _do_not_wait_for_the_disk(connection: DBAPIConnection, _: object) -> None:
    try:
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()
    except BaseException:  # nobody else closes a connection that fails here
        connection.close()
        raise
