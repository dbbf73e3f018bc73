"""The store in PostgreSQL, on a server that these tests start."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from tactician.errors import DocumentConflictError, LeaseLostError, StoreError
from tactician.stores import DocumentStore, PostgresStore
from tactician.stores.document import StoredStep
from tests.stores import postgres
from tests.stores.attachments import AttachmentConformance, CountAttachments
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


class Transaction:
    """A transaction that others wait for."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def is_waited_for(self, task: asyncio.Task[Any], verb: str) -> None:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE :query"
        while not task.done() and not await self._connection.scalar(text(waiting), {"query": f"{verb}%"}):
            await self._connection.execute(text("SELECT pg_stat_clear_snapshot()"))
        assert not task.done()


@asynccontextmanager
async def transaction_of(url: str, *statements: str) -> AsyncIterator[Transaction]:
    """Executes statements, and commits at the end of the block."""
    engine = create_async_engine(url.replace("postgresql", "postgresql+asyncpg"))
    try:
        async with engine.begin() as connection:
            for statement in statements:
                await connection.execute(text(statement))
            yield Transaction(connection)
    finally:
        await engine.dispose()


class TestPostgres(SharedStoreConformance, AttachmentConformance):
    @pytest.fixture
    def url(self, database: str) -> str:
        return f"postgresql://{database}"

    @pytest.fixture
    def count_attachments(self, server: str) -> CountAttachments:
        async def count() -> int:
            engine = create_async_engine(f"postgresql+asyncpg://{server}/postgres")
            async with engine.connect() as connection:
                found = await connection.scalar(text("SELECT count(*) FROM tactician_attachments"))
            await engine.dispose()
            return int(found)

        return count

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
        async with transaction_of(url, "SELECT * FROM tactician_documents FOR UPDATE") as transaction:
            claiming = asyncio.create_task(store.claim("docs", "w", HOUR, id="d"))
            await transaction.is_waited_for(claiming, "UPDATE")
            assert await store.claim("docs", "x", HOUR) is None, "who wants any document does not wait"
        assert await claiming is not None

    async def test_a_step_waits_for_a_claim_that_is_not_committed_and_is_then_refused(
        self, url: str, store: DocumentStore
    ) -> None:
        _, lease = await store.add_and_claim(document(), "w", 0.0)
        async with transaction_of(url, "UPDATE tactician_documents SET fence = fence + 1") as transaction:
            appending = asyncio.create_task(store.append(lease, StoredStep(1, "1")))
            await transaction.is_waited_for(appending, "INSERT")
        with pytest.raises(LeaseLostError):
            await appending
        assert await store.load_steps("docs", "d") == []

    async def test_a_step_waits_for_a_save_that_closes_the_document(self, url: str, store: DocumentStore) -> None:
        _, lease = await store.add_and_claim(document(), "w", HOUR)
        async with transaction_of(url, "UPDATE tactician_documents SET is_closed = true") as transaction:
            appending = asyncio.create_task(store.append(lease, StoredStep(1, "1")))
            await transaction.is_waited_for(appending, "INSERT")
        with pytest.raises(DocumentConflictError, match="closed"):
            await appending

    async def test_who_claims_after_a_wait_has_the_body_that_was_saved_meanwhile(
        self, url: str, store: DocumentStore
    ) -> None:
        await store.save(document(body="[1]"))
        statements = "UPDATE tactician_documents SET version = 2", "UPDATE tactician_bodies SET body = '[2]'"
        async with transaction_of(url, *statements) as transaction:
            claiming = asyncio.create_task(store.claim("docs", "w", HOUR, id="d"))
            await transaction.is_waited_for(claiming, "UPDATE")
        claimed = await claiming
        assert claimed is not None
        assert (claimed[0].version, claimed[0].text) == (2, "[2]")

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
