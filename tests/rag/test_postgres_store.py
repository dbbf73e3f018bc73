"""The library in PostgreSQL, on a server that these tests start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tactician.errors import StoreError
from tactician.rag import ChunkStore, Library, PostgresChunkStore
from tests.rag.store_conformance import StoreConformance
from tests.stores import postgres


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed_with_vectors()) as server:
        yield server


@pytest.fixture(scope="module")
def url(server: postgres.Server) -> str:
    return f"postgresql://{server.address}/{server.create_database()}"


class TestInPostgres(StoreConformance):
    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[ChunkStore]:
        store = PostgresChunkStore(url)
        for document in await store.list_documents():
            await store.remove(document.uri)
        yield store
        await store.aclose()


async def test_a_url_opens_the_database(url: str) -> None:
    async with Library(url) as library:
        assert (await library.measure()).chunks >= 0
        assert "tactician@" not in repr(library)


async def test_a_server_that_is_not_there() -> None:
    async with Library("postgresql://nobody:secret@127.0.0.1:1/none") as library:
        with pytest.raises(StoreError, match="cannot be opened") as caught:
            await library.measure()
    assert "secret" not in str(caught.value)
