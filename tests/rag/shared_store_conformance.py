"""What several processes see of a library that they share: the tests of a store subclass `SharedStoreConformance`."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from tactician.rag import Library, VectorLibrary, parse_markdown
from tests.rag.embedders import CountingEmbedder
from tests.rag.store_conformance import CARS, CATS, titles

WRITER = """
import asyncio, sys
from tactician.rag import Library, parse_markdown
from tests.rag.embedders import CountingEmbedder

async def main():
    async with Library(sys.argv[1], embedder=CountingEmbedder()) as library:
        for number in range(10):
            await library.add(parse_markdown(f"# Other {number}\\n\\nThe zebra number{number}.", f"other-{number}.md"))
            await library.embedder.embed_chunks()
        await library.remove("other-0.md")

asyncio.run(main())
"""


class Sharers(NamedTuple):
    """Two libraries in the same place, each with a memory of its own."""

    one: VectorLibrary
    other: VectorLibrary


class SharedStoreConformance:
    @pytest.fixture
    def location(self) -> str:
        raise NotImplementedError

    async def read_vocabulary(self, location: str) -> set[str]:
        raise NotImplementedError

    @pytest.fixture
    async def sharers(self, location: str) -> AsyncIterator[Sharers]:
        one, other = (Library(location, embedder=CountingEmbedder()) for _ in range(2))
        async with one, other:
            yield Sharers(one, other)

    async def test_what_another_process_adds_is_found(self, sharers: Sharers) -> None:
        one, other = sharers
        await one.add(parse_markdown(CARS, "cars.md", metadata={"kind": "a"}))
        assert titles(await one.vector("cat", where={"kind": "a"})) == ["Cars"]
        assert titles(await one.text("sofq~ wheelz~")) == ["Cars"]
        await other.add(parse_markdown(CATS, "cats.md", metadata={"kind": "a"}))
        await other.vector("embeds it")
        assert set(titles(await one.vector("cat", where={"kind": "a"}))) == {"Cars", "Cats"}
        assert set(titles(await one.text("sofq~ wheelz~"))) == {"Cars", "Cats"}

    async def test_what_another_process_replaces_or_removes_is_not_found(self, sharers: Sharers) -> None:
        one, other = sharers
        await one.add(parse_markdown(CARS, "cars.md"))
        await one.add(parse_markdown(CATS, "cats.md"))
        assert titles(await one.vector("automobile", top_k=1)) == ["Cars"]
        await other.add(parse_markdown("# Ships\n\nA ship has a sail.", "cars.md"))
        await other.remove("cats.md")
        await other.vector("embeds it")
        assert titles(await one.vector("automobile")) == ["Ships"]
        assert titles(await one.text("wheels sofa sail")) == ["Ships"]

    async def test_vectors_that_another_process_makes_later_are_found(self, sharers: Sharers) -> None:
        one, other = sharers
        await one.add(parse_markdown(CARS, "cars.md"))
        await one.vector("warm up")
        await other.add(parse_markdown(CATS, "cats.md"))
        assert titles(await one.vector("cat")) == ["Cars"]
        await other.vector("embeds it")
        assert titles(await one.vector("cat")) == ["Cats", "Cars"]

    async def test_words_with_typing_errors_are_found_after_each_change(self, sharers: Sharers) -> None:
        one, other = sharers
        for number, name in enumerate(["alligator", "porcupine", "chameleon", "salamander"]):
            library = sharers[number % 2]
            await library.add(parse_markdown(f"# {name}\n\nText.", f"{name}.md"))
            misspelt = f"{name.replace('a', 'x', 1).replace('o', 'x', 1)}~"
            assert titles(await one.text(misspelt)) == titles(await other.text(misspelt)) == [name]

    async def test_words_of_documents_that_are_gone_are_gone(self, location: str, sharers: Sharers) -> None:
        one, other = sharers
        await one.add(parse_markdown("# Zoo\n\nA porcupine, an alligator and a chameleon.", "zoo.md"))
        await one.add(parse_markdown("# Pond\n\nAn alligator.", "pond.md"))
        assert titles(await other.text("porcupin~")) == ["Zoo"]
        await other.add(parse_markdown("# Zoo\n\nA chameleon.", "zoo.md"))
        assert titles(await one.text("aligator~")) == ["Pond"]
        assert titles(await one.text("chamelon~")) == ["Zoo"]
        assert titles(await one.text("porcupin~")) == []
        assert {"alligator", "chameleon"} < await self.read_vocabulary(location)
        assert "porcupine" not in await self.read_vocabulary(location)

    async def test_a_word_stays_as_long_as_a_document_has_it(self, location: str, sharers: Sharers) -> None:
        one, other = sharers
        for number in range(4):
            await one.add(parse_markdown(f"# N{number}\n\nA porcupine.", f"{number}.md"))
        await other.add(parse_markdown("# N0\n\nA porcupine, changed.", "0.md"))
        for number in (1, 3, 0):
            await other.remove(f"{number}.md")
            assert "porcupine" in await self.read_vocabulary(location)
        assert titles(await one.text("porcupin~")) == ["N2"]
        await one.remove("2.md")
        assert await self.read_vocabulary(location) == set()

    async def test_many_changes_with_searches_between_them(self, sharers: Sharers) -> None:
        one, other = sharers
        for number in range(40):
            library = sharers[number % 2]
            await library.add(parse_markdown(f"# N{number}\n\nThe word{number} is here.", f"{number % 25}.md"))
            await library.vector("embeds it")
            assert titles(await one.vector(f"N{number} word{number} is here", top_k=1)) == [f"N{number}"]
        expected = {f"N{number}" for number in range(15, 40)}
        assert set(titles(await one.vector("word", top_k=100))) == expected
        assert set(titles(await other.vector("word", top_k=100))) == expected

    async def test_two_writers_at_once(self, sharers: Sharers) -> None:
        await asyncio.gather(
            *(
                library.add(parse_markdown(f"# {number}\n\nShared words of number{number}.", f"{number}.md"))
                for library in sharers
                for number in range(10)
            )
        )
        for library in sharers:
            hits = await library.search("shared words number", top_k=100)
            assert sorted(hit.uri for hit in hits) == sorted(f"{number}.md" for number in range(10))
            assert (await library.measure()).vectors == {"counting": 10}

    async def test_a_process_writes_while_this_one_searches(self, location: str, sharers: Sharers) -> None:
        mine = sharers.one
        await mine.add(parse_markdown("# Mine\n\nThe zebra is mine.", "mine.md"))
        writer = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, location, stderr=PIPE)
        ends = asyncio.create_task(writer.communicate())
        while not ends.done():
            assert "Mine" in titles(await mine.search("the zebra is mine", top_k=100))
            await mine.add(parse_markdown("# Changing\n\nSome words.", "changing.md"))
            await asyncio.sleep(0.01)
        _, problems = await ends
        assert writer.returncode == 0, problems.decode()
        expected = {"Mine", *(f"Other {number}" for number in range(1, 10))}
        assert set(titles(await mine.text("zebra", top_k=100))) == expected
        assert set(titles(await mine.vector("zebra", top_k=100))) == {*expected, "Changing"}
