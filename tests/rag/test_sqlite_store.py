from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from math import hypot
from pathlib import Path

import pytest

from tactician.errors import ConfigurationError
from tactician.rag import ChunkStore, Library, SqliteChunkStore, parse_markdown
from tactician.rag.similar_words import Vocabulary, measure_distance
from tests.rag.embedders import CountingEmbedder
from tests.rag.shared_store_conformance import SharedStoreConformance
from tests.rag.store_conformance import CARS, CATS, StoreConformance, titles


class TestInMemory(StoreConformance):
    @pytest.fixture
    async def store(self) -> AsyncIterator[ChunkStore]:
        store = SqliteChunkStore()
        yield store
        await store.aclose()


class TestInAFile(StoreConformance, SharedStoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "library.db")

    async def read_vocabulary(self, location: str) -> set[str]:
        with closing(sqlite3.connect(location)) as connection:
            return {word for (word,) in connection.execute("SELECT word FROM library_vocabulary")}

    @pytest.fixture
    async def store(self, location: str) -> AsyncIterator[ChunkStore]:
        store = SqliteChunkStore(location)
        yield store
        await store.aclose()


async def test_a_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    async with Library(path, embedder=CountingEmbedder()) as library:
        await library.add(parse_markdown(CARS, "cars.md"))
        await library.vector("warm up")
    model = CountingEmbedder()
    async with Library(f"sqlite:///{path}", embedder=model) as library:
        assert titles(await library.search("wheels")) == ["Cars"]
    assert model.texts == ["wheels"]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_words_in_more_chunks_than_are_counted_have_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.rag.sqlite_connection.SqliteConnection.max_counted", 5)
    words = ["lamp"] * 40 + ["granite"] * 8
    sections = "\n\n".join(f"## S{number}\n\nA {word}." for number, word in enumerate(words))
    async with Library() as library:
        await library.add(parse_markdown(f"# Rooms\n\n{sections}", "rooms.md"))
        assert titles(await library.text("lamp granite", top_k=1)) == ["S40"]


async def test_two_processes_create_a_file_at_once(tmp_path: Path) -> None:
    for number in range(20):
        libraries = [Library(tmp_path / f"{number}.db") for _ in range(4)]
        found = await asyncio.gather(*(library.list_documents() for library in libraries))
        assert found == [(), (), (), ()]
        await asyncio.gather(*(library.aclose() for library in libraries))


async def test_a_failure_in_the_middle_changes_nothing() -> None:
    async with Library() as library:
        await library.add(parse_markdown(CARS, "cars.md"))
        (record,) = await library.list_documents()
        chunks = [hit.chunk for hit in await library.text("wheels")]
        changed = parse_markdown("# Cars\n\nNew.", "cars.md")
        with pytest.raises(sqlite3.IntegrityError):
            await library.store.save(changed, chunks * 2, record)
        assert titles(await library.text("wheels")) == ["Cars"]
        await library.add(parse_markdown(CATS, "cats.md"))


@pytest.mark.parametrize("content", [b"no database at all, only words", b""])
async def test_files_of_others_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.db"
    path.write_bytes(content)
    if not content:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE runs (id TEXT)")
        connection.close()
    async with Library(path) as library:
        with pytest.raises(ConfigurationError, match=r"file\.db.*Name another file"):
            await library.measure()


async def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    async with Library(tmp_path) as library:
        with pytest.raises(ConfigurationError, match="not a file"):
            await library.measure()


async def test_of_chunks_with_common_words_the_newest_are_ranked() -> None:
    sections = "\n\n".join(f"## Number {number}\n\nCommon text." for number in range(10_050))
    async with Library() as library:
        await library.add(parse_markdown("# Old\n\nCommon, and rare.", "old.md", metadata={"age": "old"}))
        await library.add(parse_markdown(f"# New\n\n{sections}", "new.md", metadata={"age": "new"}))
        hits = await library.text("common", top_k=20_000)
        assert len(hits) == 10_000
        assert {hit.uri for hit in hits} == {"new.md"}
        assert titles(await library.text("common rare")) == ["Old"]
        assert titles(await library.text("common", where={"age": "old"})) == ["Old"]
        assert titles(await library.text("com*", where={"age": "old"})) == ["Old"]


def test_words_that_a_typing_error_makes_of_each_other() -> None:
    vocabulary = Vocabulary(["ship", "shipping", "chip", "whip", "shop", "hips", "slipping", "shpiping", "sh", "zzzz"])
    assert vocabulary.find_similar("ship") == ["chip", "shop", "whip"]
    assert vocabulary.find_similar("shipping") == ["shpiping", "slipping"]
    assert vocabulary.find_similar("Shiping") == ["shipping", "shpiping", "slipping"]
    assert vocabulary.find_similar("") == []


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("", "", 0), ("abc", "abc", 0), ("", "abc", 3), ("abc", "acb", 1), ("aab", "ab", 1), ("kitten", "sitting", 3)],
)
def test_edits_between_two_words(left: str, right: str, edits: int) -> None:
    assert measure_distance(left, right) == measure_distance(right, left) == edits


_EARLIER = """
DROP TRIGGER library_chunk_added;
DROP TRIGGER library_chunk_removed;
CREATE TRIGGER library_chunk_added AFTER INSERT ON library_chunks BEGIN
  INSERT INTO library_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER library_chunk_removed AFTER DELETE ON library_chunks BEGIN
  INSERT INTO library_words (library_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
PRAGMA user_version = 3;
INSERT INTO library_documents VALUES (1, 'a.md', 'key', 'A', '', 2, 0.0, '{}');
INSERT INTO library_chunks VALUES (1, 1, 0, 'key.s0', '["A"]', '東京は日本の首都です。', x'01');
INSERT INTO library_chunks VALUES (2, 1, 1, 'key.s0', '["A"]', 'Plain words.', x'02');
UPDATE library_state SET version = 1;
"""


async def test_a_library_of_an_earlier_version_is_indexed_anew(tmp_path: Path) -> None:
    path = tmp_path / "library.db"
    async with Library(path) as library:
        await library.measure()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_EARLIER)
    for _ in range(2):
        async with Library(path) as library:
            assert [hit.text for hit in await library.text("首都")] == ["東京は日本の首都です。"]
            assert [hit.text for hit in await library.text("plain")] == ["Plain words."]
    async with Library(path) as library:
        assert await library.remove("a.md")
        await library.add(parse_markdown("# B\n\n東京", "b.md"))
        assert [hit.uri for hit in await library.text("東京")] == ["b.md"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("top_k", [1, 5, 40])
async def test_the_nearest_of_many_vectors_are_exact(top_k: int) -> None:
    embedder = CountingEmbedder(dimensions=16)
    async with Library(embedder=embedder) as library:
        text = "\n\n".join(
            f"## Part {number}\n\nword{number} word{number % 7} word{number % 11}" for number in range(700)
        )
        await library.add(parse_markdown(text, "many.md"))
        hits = await library.vector("word3 word5", top_k=top_k)

        def measure(text: str) -> float:
            first, second = embedder.count(text), embedder.count("word3 word5")
            return sum(one * other for one, other in zip(first, second, strict=True)) / (hypot(*first) * hypot(*second))

        scores = sorted((measure(chunk) for chunk in {*embedder.texts} - {"word3 word5"}), reverse=True)
        assert [hit.score for hit in hits] == pytest.approx(scores[:top_k], abs=0.01)
