"""What every store of a library does: the tests of a store subclass `StoreConformance`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tactician.errors import ConfigurationError, ModelConnectionError
from tactician.rag import (
    Chunk,
    Chunking,
    ChunkStore,
    ContainerSection,
    ContentRoot,
    HybridSearch,
    LeafSection,
    Library,
    RegexSearch,
    ResultExpansion,
    SearchMethod,
    SearchQueryError,
    SearchResults,
    TextSearch,
    VectorLibrary,
    VectorSearch,
    parse_markdown,
)
from tests.rag.embedders import CountingEmbedder, FailingEmbedder, SlowEmbedder

RETURNS = """# Orders

How to buy and to give back.

## Returns

A return needs the number RMA-1234 on the parcel. We pay a refund within five days.

## Gift cards

A gift card cannot be returned. Each gift card is valid for three years.
"""
CARS = "# Cars\n\nThe automobile has four wheels.\n"
CATS = "# Cats\n\nA cat sleeps on the sofa, and a dog under it.\n"


def texts(results: SearchResults | Sequence[Chunk]) -> list[str]:
    return [one.text.rpartition("\n")[2] for one in results]


def titles(results: SearchResults) -> list[str]:
    return [hit.chunk.title for hit in results]


class StoreConformance:
    @pytest.fixture
    def store(self) -> ChunkStore:
        raise NotImplementedError

    @pytest.fixture
    async def library(self, store: ChunkStore) -> Library:
        library = Library(store)
        await self.fill(library)
        return library

    @pytest.fixture
    async def vectors(self, store: ChunkStore) -> VectorLibrary:
        library = Library(store, embedder=CountingEmbedder())
        await self.fill(library)
        return library

    async def fill(self, library: Library) -> None:
        await library.add(parse_markdown(RETURNS, "shop/orders.md", metadata={"team": ["sales", "help"], "year": 2024}))
        await library.add(parse_markdown(CARS, "cars.md", metadata={"team": "garage"}))
        await library.add(parse_markdown(CATS, "cats.md"))

    async def test_words_are_found_with_the_best_first(self, library: Library) -> None:
        hits = await library.text("gift cards")
        assert titles(hits) == ["Gift cards"]
        assert hits.method is SearchMethod.TEXT
        assert hits[0].score == 1
        assert hits[0].found_by == (SearchMethod.TEXT,)
        assert hits[0].uri == "shop/orders.md"
        assert hits[0].chunk.path == ("Orders", "Gift cards")
        assert hits[0].text.startswith("Orders > Gift cards\n\nA gift card")

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("gift parcel", {"Gift cards", "Returns"}),
            ("+gift parcel", {"Gift cards"}),
            ("gift parcel -years", {"Returns"}),
            ('"five days"', {"Returns"}),
            ('"days five"', set()),
            ("sof*", {"Cats"}),
            ("sof", set()),
            ("automobil~ ", {"Cars"}),
            ("autmoobile~2", {"Cars"}),
            ("xyzzyqq~", set()),
            ("RMA-1234", {"Returns"}),
            ("+gift +wheels", set()),
            ('+gift -"three years"', set()),
            ("WHEELS", {"Cars"}),
            ("the wheels", {"Cars"}),
        ],
    )
    async def test_operators(self, query: str, expected: set[str], library: Library) -> None:
        assert set(titles(await library.text(query))) == expected

    @pytest.mark.parametrize("query", ["", "  ", "-gift", "+", '""', "- + ~ *", "(((", "?!"])
    async def test_queries_that_search_for_nothing_are_errors_for_the_model(self, query: str, library: Library) -> None:
        with pytest.raises(SearchQueryError, match="needs a word"):
            await library.text(query)

    @pytest.mark.parametrize(
        "query",
        [
            'wheels" OR "gift', "wheels) OR (gift", "text : wheels NEAR(gift, 2)", "wheels'; DROP TABLE chunks; --",
            "wheels & !gift | <-> (", "wheels:*",
            "^wheels {text}: AND NOT", "wheels\0", "wheels \ud800", "$1 wheels %s ?",
        ],
    )  # fmt: skip
    async def test_no_query_reaches_the_query_language_of_a_database(self, query: str, library: Library) -> None:
        assert "Cars" in titles(await library.text(query))
        assert "Cars" in titles(await library.search(query))
        assert len(await library.list_documents()) == 3

    async def test_expressions_match_in_the_order_of_the_documents(self, library: Library) -> None:
        hits = await library.regex(r"RMA-\d{4}|(?i)SOFA")
        assert titles(hits) == ["Returns", "Cats"]
        assert hits.method is SearchMethod.REGEX
        assert titles(await library.regex(r"RMA|sofa", top_k=1)) == ["Returns"]
        assert titles(await library.regex(r"xyz")) == []

    @pytest.mark.parametrize("pattern", ["", "(", "[z-a]", "a" * 501, "(?P<x>a)(?P<x"])
    async def test_expressions_that_are_not_valid_are_errors_for_the_model(
        self, pattern: str, library: Library
    ) -> None:
        with pytest.raises(SearchQueryError, match="regular expression"):
            await library.regex(pattern)

    async def test_without_an_embedder_nothing_is_found_by_meaning_and_results_say_so(self, library: Library) -> None:
        hits = await library.search("Which vehicle has wheels?")
        assert titles(hits) == ["Cars"]
        assert hits.method is SearchMethod.TEXT
        assert "no embedder" in hits.note
        assert not isinstance(library, VectorSearch)

    async def test_a_query_is_embedded_once(self, store: ChunkStore) -> None:
        model = CountingEmbedder()
        library = Library(store, embedder=model)
        await self.fill(library)
        first = await library.vector("vehicle")
        assert await library.vector("vehicle") == first
        await library.search("vehicle")
        assert model.texts.count("vehicle") == 1

    async def test_types_say_what_a_library_can_do(self, vectors: VectorLibrary) -> None:
        for protocol in (VectorSearch, TextSearch, RegexSearch, HybridSearch, ResultExpansion):
            assert isinstance(vectors, protocol)

    async def test_meanings_are_found(self, vectors: VectorLibrary) -> None:
        hits = await vectors.vector("feline", top_k=1)
        assert titles(hits) == ["Cats"]
        assert hits.method is SearchMethod.VECTOR
        assert 0.3 < hits[0].score <= 1
        assert titles(await vectors.vector("feline", threshold=0.99)) == []

    async def test_a_hybrid_search_finds_what_both_find(self, vectors: VectorLibrary) -> None:
        hits = await vectors.search("a vehicle with wheels")
        assert hits.method is SearchMethod.HYBRID
        assert hits.note == ""
        assert hits[0].chunk.title == "Cars"
        assert hits[0].found_by == (SearchMethod.VECTOR, SearchMethod.TEXT)
        assert hits[0].score == 1
        assert len(hits) > 1
        assert {one.found_by for one in hits[1:]} == {(SearchMethod.VECTOR,)}

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"team": "sales"}, {"Orders", "Returns", "Gift cards"}),
            ({"team": ["garage", "nobody"]}, {"Cars"}),
            ({"year": 2024, "team": "help"}, {"Orders", "Returns", "Gift cards"}),
            ({"year": 2024, "team": "garage"}, set()),
            ({"year": "2024"}, set()),
            ({"year": True}, set()),
            ({"owner": "me"}, set()),
            ({"team": []}, set()),
            ({}, {"Orders", "Returns", "Gift cards", "Cars", "Cats"}),
        ],
    )
    async def test_filters_hold_for_every_search(
        self, where: dict[str, str], expected: set[str], vectors: VectorLibrary
    ) -> None:
        assert set(titles(await vectors.vector("give buy automobile cat gift", where=where))) == expected
        words = "buy parcel wheels sofa valid"
        assert set(titles(await vectors.text(words, where=where))) == expected
        assert set(titles(await vectors.search(words, where=where))) == expected
        assert set(titles(await vectors.regex(".", where=where))) == expected

    async def test_the_chunks_around_a_hit(self, library: Library) -> None:
        (hit,) = await library.text("parcel")
        around = await library.expand(hit.id)
        assert [chunk.position for chunk in around] == [0, 1, 2]
        assert [chunk.title for chunk in around] == ["Orders", "Returns", "Gift cards"]
        assert await library.expand(hit.id, 0) == (hit.chunk,)
        assert await library.expand(hit.id, where={"team": "garage"}) == ()

    async def test_the_section_around_a_hit_and_the_document_around_that(self, library: Library) -> None:
        (hit,) = await library.text("parcel")
        section = await library.zoom_out(hit.id)
        assert isinstance(section, LeafSection)
        assert section.path == ("Orders", "Returns")
        assert section.text.startswith("A return needs")
        root = await library.zoom_out(section.id)
        assert isinstance(root, ContentRoot)
        assert root == parse_markdown(RETURNS, "shop/orders.md", metadata={"team": ["sales", "help"], "year": 2024})
        assert await library.zoom_out(root.id) is None
        assert await library.zoom_out(hit.id, where={"team": "garage"}) is None

    async def test_sections_within_sections(self, library: Library) -> None:
        root = parse_markdown("# A\n## B\nfirst\n### C\nsecond\n### D\nthird\n## E\nfourth", "deep.md")
        await library.add(root)
        (hit,) = await library.text("second")
        assert hit.chunk.path == ("A", "B", "C")
        section = await library.zoom_out(hit.chunk.parent_id or "")
        assert isinstance(section, ContainerSection)
        assert section.full_text == "## B\n\nfirst\n\n### C\n\nsecond\n\n### D\n\nthird"

    @pytest.mark.parametrize("id", ["", "x", "x.1", "x.s1", "x.-1", "x.1.2", "x.99999999999999999999", "'", "x.²"])
    async def test_ids_that_nothing_has(self, id: str, library: Library) -> None:
        assert await library.load_chunks([id]) == ()
        assert await library.expand(id) == ()
        assert await library.zoom_out(id) is None

    async def test_chunks_are_loaded_by_their_ids(self, library: Library) -> None:
        hits = await library.text("gift wheels")
        ids = [hit.id for hit in hits]
        assert await library.load_chunks([*ids, "made up"]) == tuple(hit.chunk for hit in hits)
        assert [one.uri for one in await library.load_chunks(ids, where={"team": "garage"})] == ["cars.md"]

    async def test_a_document_is_replaced_whole(self, vectors: VectorLibrary) -> None:
        await vectors.vector("warm up")
        await vectors.add(parse_markdown("# Cars\n\nA bicycle has pedals.", "cars.md"))
        assert titles(await vectors.text("wheels automobile")) == []
        assert texts(await vectors.text("pedals")) == ["A bicycle has pedals."]
        assert texts(await vectors.vector("pedals", top_k=1)) == ["A bicycle has pedals."]
        found = await vectors.measure()
        assert (found.documents, found.chunks, found.vectors) == (3, 5, {"counting": 5})

    async def test_a_document_is_removed_whole(self, vectors: VectorLibrary) -> None:
        await vectors.vector("warm up")
        assert await vectors.remove("cars.md")
        assert not await vectors.remove("cars.md")
        assert "Cars" not in titles(await vectors.search("wheels automobile"))
        found = await vectors.measure()
        assert (found.documents, found.chunks, found.vectors) == (2, 4, {"counting": 4})

    async def test_a_document_without_text_is_replaced_and_removed(self, library: Library) -> None:
        for _ in range(2):
            await library.add(parse_markdown("# Empty", "empty.md"))
        assert [one.chunks for one in await library.list_documents()] == [3, 1, 1, 0]
        assert await library.remove("empty.md")
        assert len(await library.list_documents()) == 3

    async def test_a_text_is_embedded_once(self, store: ChunkStore) -> None:
        model = CountingEmbedder()
        library = Library(store, embedder=model)
        await self.fill(library)
        await library.vector("one")
        count = len(model.texts)
        again = Library(store, embedder=model)
        await again.add(parse_markdown(RETURNS.replace("three", "four"), "shop/orders.md"))
        await again.add(parse_markdown(CARS, "copy.md"))
        await again.vector("two")
        assert [text.rpartition("\n")[2] for text in model.texts[count:]] == [
            "A gift card cannot be returned. Each gift card is valid for four years.",
            "two",
        ]

    async def test_texts_that_were_not_embedded_are_embedded_later(self, store: ChunkStore) -> None:
        model = FailingEmbedder()
        library = Library(store, embedder=model)
        await self.fill(library)
        with pytest.raises(ModelConnectionError):
            await library.vector("feline")
        model.is_broken = False
        assert titles(await library.vector("feline", top_k=1)) == ["Cats"]

    async def test_searches_at_once_wait_for_all_vectors(self, store: ChunkStore) -> None:
        library = Library(store, embedder=SlowEmbedder())
        await self.fill(library)
        found = await asyncio.gather(*(library.vector("feline", top_k=1) for _ in range(3)))
        assert [titles(hits) for hits in found] == [["Cats"]] * 3

    async def test_another_embedder_embeds_all_anew(self, store: ChunkStore) -> None:
        await self.fill(Library(store, embedder=CountingEmbedder("old")))
        library = Library(store, embedder=CountingEmbedder("new", dimensions=32))
        hits = await library.vector("feline", top_k=1)
        assert titles(hits) == ["Cats"]
        assert (await library.measure()).vectors["new"] == 5

    async def test_entries_of_documents(self, library: Library) -> None:
        entries = await library.list_documents()
        assert [(one.uri, one.title, one.chunks) for one in entries] == [
            ("shop/orders.md", "Orders", 3), ("cars.md", "Cars", 1), ("cats.md", "Cats", 1),
        ]  # fmt: skip
        assert entries[0].metadata == {"team": ["sales", "help"], "year": 2024}
        assert await library.store.find_document("cars.md") == entries[1]
        assert await library.store.find_document("nothing.md") is None

    async def test_sizes(self, library: Library) -> None:
        found = await library.measure()
        assert (found.documents, found.sections, found.chunks, found.vectors) == (3, 5, 5, {})
        assert 300 < found.characters < 500

    async def test_many_chunks_of_one_section(self, store: ChunkStore) -> None:
        library = Library(store, chunking=Chunking(max_chars=120, overlap=20))
        text = "\n\n".join(f"Paragraph {number} says that word{number} is meant." for number in range(30))
        await library.add(parse_markdown(f"# Long\n\n{text}", "long.md"))
        (hit, *_) = await library.text("word17")
        around = await library.expand(hit.id, 2)
        assert len(around) == 5
        assert all(len(chunk.text) <= 120 for chunk in around)
        section = await library.zoom_out(hit.id)
        assert isinstance(section, LeafSection)
        assert section.text == text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("東京", "ja"), ("首都はどこですか", "ja zh"), ("+首都", "ja zh"), ('"日本の首都"', "ja"), ("首*", "ja zh"),
            ("京都", ""), ('"首都の日本"', ""), ("Python入門", "ja"), ("北京", "zh"), ("首都 -北京", "ja"),
            ("ภาษาไทย", "th"), ("brucke", "de"), ("Brücke", "de"), ("+BRUCKE", "de"),
            ("brücek~", "de"), ("cafés", "de"), ("한국어", "ko"),
        ],
    )  # fmt: skip
    async def test_words_of_all_scripts(self, query: str, expected: str, library: Library) -> None:
        for name, text in {
            "ja": "東京は日本の首都です。Python入門書も読みます。", "zh": "中国的首都是北京。",
            "th": "คนไทยพูดภาษาไทย", "de": "Eine Brücke führt zum Café.", "ko": "한국어 문서입니다.",
        }.items():  # fmt: skip
            await library.add(parse_markdown(f"# {name}\n\n{text}", f"{name}.md"))
        assert set(titles(await library.text(query))) == set(expected.split())
        if query.isalpha() and expected:
            assert set(titles(await library.search(query))) == set(expected.split())

    async def test_words_in_many_chunks_count_in_the_ranking(
        self, library: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tactician.rag.sqlite_connection.SqliteConnection.max_candidates", 4)
        monkeypatch.setattr("tactician.rag.postgres_store.PostgresConnection.max_candidates", 4)
        sections = "\n\n".join(f"## S{number}\n\nA lamp hangs over the table, as in all rooms." for number in range(20))
        await library.add(parse_markdown(f"# Rooms\n\n{sections}", "rooms.md"))
        await library.add(parse_markdown("# First\n\nA purple thing that nobody has ever seen.", "first.md"))
        await library.add(parse_markdown("# Second\n\nA purple lamp stands on the table.", "second.md"))
        assert titles(await library.text("purple lamp table")) == ["Second", "First"]
        assert titles(await library.text("+purple lamp table")) == ["Second", "First"]
        assert len(await library.text("lamp table")) > 0

    @pytest.mark.parametrize(
        ("query", "better", "worse"),
        [
            # A word in the form of the query counts more than one with the same stem.
            ("lamp", "A lamp is what it needs.", "A lamping is what it needs."),
            ("Brücken", "Die Brücken sind neu.", "Die Brückens sind neu."),
            # Words that are in most texts decide between texts that are alike otherwise.
            ("what is behind an emerald", "An emerald is what is seen.", "Emerald green glows, and glows."),
            ("+emerald before the door", "The emerald of the queen.", "Big emerald among queens."),
            # A word that the query repeats, in any form, counts once.
            ("violet violets violet marble", "A marble marble.", "A violet wall."),
            # A phrase counts, and more in its own form.
            ('"tin soldier"', "A tin soldier stood still.", "Tin soldiers stood still."),
            # Words side by side, as in the query, count more than apart, and so do common ones.
            ("copper kettle shelf", "Copper kettle beside a shelf.", "Copper shelf beside a kettle."),
            ("where to put silver", "A place to put silver.", "Put a place to silver."),
            # The occurrences in a long text count less.
            ("granite", "Granite is hard.", "Granite is " + "very " * 100 + "hard."),
        ],
    )
    async def test_the_order_of_texts_with_the_same_words(
        self, query: str, better: str, worse: str, library: Library
    ) -> None:
        for title, text in (("Worse", worse), ("Better", better)):
            await library.add(parse_markdown(f"# {title}\n\n{text}", f"{title}.md"))
        assert titles(await library.text(query))[:2] == ["Better", "Worse"]

    async def test_hits_beyond_the_chunks_that_are_scored_again(self, library: Library) -> None:
        sections = "\n\n".join(f"## S{number}\n\nA lamp of room {number}." for number in range(120))
        await library.add(parse_markdown(f"# Rooms\n\n{sections}", "rooms.md"))
        hits = await library.text("lamp", top_k=110)
        assert len({hit.id for hit in hits}) == 110
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert len(await library.text("lamp", top_k=3)) == 3

    @pytest.mark.parametrize("top_k", [0, -1])
    @pytest.mark.parametrize("method", ["search", "text", "regex", "vector"])
    async def test_searches_return_at_least_one_hit(self, method: str, top_k: int, vectors: VectorLibrary) -> None:
        with pytest.raises(SearchQueryError, match=f"top_k is {top_k}"):
            await getattr(vectors, method)("gift", top_k=top_k)

    async def test_the_weight_of_vectors_decides_between_words_and_meaning(self, vectors: VectorLibrary) -> None:
        await vectors.add(parse_markdown("# Vehicle\n\nOnly a title has this word: nothing here is about it.", "v.md"))
        order = {}
        for weight in (0.0, 1.0):
            library = Library(vectors.store, embedder=vectors.embedder.model, vector_weight=weight)
            order[weight] = titles(await library.search("vehicle wheels"))
            by = await (library.vector if weight else library.text)("vehicle wheels")
            assert order[weight][0] == titles(by)[0]
        with pytest.raises(ConfigurationError, match="between 0 and 1"):
            Library(vectors.store, embedder=vectors.embedder.model, vector_weight=1.5)
