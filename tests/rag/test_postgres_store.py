"""The library in PostgreSQL, on a server that these tests start."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tactician.errors import ConfigurationError, StoreError
from tactician.rag import ChunkStore, Library, PostgresChunkStore, parse_markdown
from tests.rag.shared_store_conformance import SharedStoreConformance
from tests.rag.store_conformance import StoreConformance, titles
from tests.stores import postgres

OTHER_TABLE = """
CREATE SCHEMA "Other Schema";
CREATE TABLE "Other Schema".library_chunks AS SELECT to_tsvector('english', 'rare') AS words FROM generate_series(1, 9);
ANALYZE "Other Schema".library_chunks;
"""
"""Table of the same name, whose statistics are not those of the library."""


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(scope="module")
def url(server: postgres.Server) -> str:
    return f"postgresql://{server.address}/{server.create_database()}"


class TestInPostgres(StoreConformance, SharedStoreConformance):
    async def read_vocabulary(self, location: str) -> set[str]:
        connection = await asyncpg.connect(location)
        try:
            return {word for (word,) in await connection.fetch("SELECT word FROM library_vocabulary")}
        finally:
            await connection.close()

    @pytest.fixture
    async def store(self, location: str) -> AsyncIterator[ChunkStore]:
        store = PostgresChunkStore(location)
        yield store
        await store.aclose()

    @pytest.fixture
    async def location(self, url: str) -> AsyncIterator[str]:
        yield url
        async with Library(url) as library:
            for document in await library.list_documents():
                await library.remove(document.uri)


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE library_vectors (digest bytea NOT NULL, model text NOT NULL, vector real[] NOT NULL)",
        "CREATE TABLE library_chunks (id bigint PRIMARY KEY)",
    ],
)
async def test_tables_of_another_version_are_a_clear_mistake(table: str, server: postgres.Server) -> None:
    url = f"postgresql://{server.address}/{server.create_database()}"
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(table)
        for _ in range(2):
            async with Library(url) as library:
                with pytest.raises(
                    ConfigurationError, match=f"another version: {table.split()[2]}. Name another database"
                ):
                    await library.measure()
        assert await connection.fetchval("SELECT to_regclass('library_documents')") is None
    finally:
        await connection.close()


@pytest.mark.parametrize("is_analyzed", [False, True])
async def test_words_that_are_in_many_chunks_bring_no_candidates_where_there_are_rarer_ones(
    is_analyzed: bool, server: postgres.Server
) -> None:
    url = f"postgresql://{server.address}/{server.create_database()}"
    sections = "\n\n".join(f"## Number {number}\n\nCommon text." for number in range(5_100))
    async with Library(url) as library:
        await library.add(parse_markdown("# Old\n\nCommon, and rare.", "old.md"))
        await library.add(parse_markdown(f"# New\n\n{sections}", "new.md"))
        if is_analyzed:
            connection = await asyncpg.connect(url)
            await connection.execute("ANALYZE library_chunks")
            await connection.execute(OTHER_TABLE)
            await connection.close()
        assert titles(await library.text("common rare")) == ["Old"]
        assert len(await library.text("common", top_k=6_000)) == 5_101
        assert titles(await library.text("+common rare", top_k=1)) == ["Old"]


async def test_a_server_that_stops_and_starts_again() -> None:
    with postgres.running(postgres.installed()) as server:
        async with Library(f"postgresql://{server.address}/{server.create_database()}") as library:
            await library.add(parse_markdown("# Cars\n\nThe automobile has wheels.", "cars.md"))
            server.crash()
            with pytest.raises(StoreError, match="cannot be used"):
                await library.text("wheels")
            server.start()
            assert titles(await library.text("wheels")) == ["Cars"]


async def test_a_url_opens_the_database(url: str) -> None:
    async with Library(url) as library:
        assert (await library.measure()).chunks >= 0
        assert "tactician@" not in repr(library)


async def test_a_server_that_is_not_there() -> None:
    async with Library("postgresql://nobody:secret@127.0.0.1:1/none") as library:
        with pytest.raises(StoreError, match="cannot be opened") as caught:
            await library.measure()
    assert "secret" not in str(caught.value)


async def test_a_library_of_an_earlier_version_is_indexed_anew(server: postgres.Server) -> None:
    url = f"postgresql://{server.address}/{server.create_database()}"
    async with Library(url) as library:
        await library.add(parse_markdown("# A\n\nEine Brücke in 東京.", "a.md"))
    connection = await asyncpg.connect(url)
    await connection.execute(
        "ALTER TABLE library_chunks DROP COLUMN words; "
        "ALTER TABLE library_chunks ADD COLUMN words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED"
    )
    await connection.close()
    async with Library(url) as library:
        for query in ("brucke", "東京", "eine"):
            assert len(await library.text(query)) == 1
        await library.add(parse_markdown("# B\n\nEine Straße in 北京.", "b.md"))
        assert titles(await library.text("北京")) == ["B"]
