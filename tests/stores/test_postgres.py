"""The store in PostgreSQL, on a server that these tests start."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tactician.errors import StoreError
from tactician.stores import DocumentStore, PostgresStore
from tests.stores import postgres
from tests.stores.codecs import StoreConformance
from tests.stores.conformance import HOUR, document
from tests.stores.shared import SharedStoreConformance


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.running(postgres.installed()) as server:
        yield server.address


async def done(server: str, statement: str) -> None:
    engine = create_async_engine(f"postgresql+asyncpg://{server}/postgres", isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(statement))
    await engine.dispose()


async def connections(server: str) -> int:
    """How many there are besides the one that asks."""
    engine = create_async_engine(f"postgresql+asyncpg://{server}/postgres")
    clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    async with engine.connect() as connection:
        found = await connection.scalar(text(clients))
    await engine.dispose()
    return int(found)


@pytest.fixture
async def database(server: str) -> AsyncIterator[str]:
    await done(server, "CREATE SCHEMA IF NOT EXISTS public")
    yield f"{server}/postgres"
    await done(server, "DROP SCHEMA public CASCADE")


class TestPostgres(SharedStoreConformance):
    @pytest.fixture
    def url(self, database: str) -> str:
        return f"postgresql://{database}"

    async def test_connections_that_the_server_has_closed_are_made_anew(
        self, server: str, store: DocumentStore
    ) -> None:
        saved = await store.save(document())
        await done(
            server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname <> ''",
        )
        assert await store.load("docs", "d") == saved

    async def test_who_wants_a_certain_document_waits_while_its_row_is_locked(
        self, url: str, store: DocumentStore
    ) -> None:
        await store.save(document())
        engine = create_async_engine(url.replace("postgresql", "postgresql+asyncpg"))
        async with engine.connect() as blocking:
            await blocking.execute(text("SELECT * FROM tactician_documents FOR UPDATE"))
            claiming = asyncio.create_task(store.claim("docs", "w", HOUR, id="d"))
            waits = text(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE%'"
            )
            while not claiming.done() and not await blocking.scalar(waits):
                await blocking.execute(text("SELECT pg_stat_clear_snapshot()"))
            assert await store.claim("docs", "x", HOUR) is None, "who wants any document does not wait"
        assert await claiming is not None
        await engine.dispose()

    async def test_a_store_that_is_forgotten_leaves_no_connection(self, server: str, url: str) -> None:
        def use_and_forget() -> None:
            asyncio.run(PostgresStore(url).list_ids("docs"))

        await asyncio.to_thread(use_and_forget)
        for _ in range(3):
            await PostgresStore(url).list_ids("docs")
        async with asyncio.timeout(20):
            while await connections(server):
                gc.collect()
                await asyncio.sleep(0.05)

    async def test_a_database_that_is_not_there_is_named(self, server: str) -> None:
        with pytest.raises(StoreError, match='database "nothing" does not exist'):
            await PostgresStore(f"postgresql://{server}/nothing").load("docs", "d")


class TestPsycopg(StoreConformance):
    @pytest.fixture
    async def opened(self, database: str) -> Callable[[], DocumentStore]:
        return lambda: PostgresStore(f"postgresql+psycopg://{database}")
