"""Fusion of rankings: relative scores, weighted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tactician.llm.embeddings.model import Vector
from tactician.rag import Library, SqliteChunkStore, parse_markdown
from tactician.rag.chunk_store import RankedChunk
from tactician.rag.filters import Filter
from tactician.rag.fusion import fuse_scores
from tactician.rag.text_query import TextQuery
from tests.rag.embedders import CountingEmbedder


def rank(**scores: float) -> list[RankedChunk]:
    return [RankedChunk(int(name.removeprefix("c")), score) for name, score in scores.items()]


def test_a_hit_that_is_far_ahead_by_words_stays_first() -> None:
    words = rank(c1=1.0, c2=0.3, c3=0.2)
    vectors = rank(c2=0.55, c3=0.54, c1=0.5)
    assert [each.number for each in fuse_scores([(1 / 3, vectors), (2 / 3, words)])] == [1, 2, 3]


def test_the_first_by_both_has_the_score_1() -> None:
    best = fuse_scores([(0.5, rank(c1=0.9, c2=0.1)), (0.5, rank(c1=1.0))])[0]
    assert best.number == 1
    assert best.score == pytest.approx(1.0)


def test_a_ranking_without_hits_counts_nothing() -> None:
    assert [each.number for each in fuse_scores([(0.5, []), (0.5, rank(c7=1.0, c8=0.5))])] == [7, 8]


class WatchedStore(SqliteChunkStore):
    """Store that notes which search of a hybrid search begins first."""

    def __init__(self, embedder: CountingEmbedder) -> None:
        super().__init__()
        self.began: list[str] = []
        self._embedder = embedder

    async def find_nearest(self, model: str, vector: Vector, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        self.began.append("vectors")
        return await super().find_nearest(model, vector, top_k, where)

    async def find_words(self, query: TextQuery, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        self.began.append(f"words, with {len(self._embedder.texts)} texts embedded")
        return await super().find_words(query, top_k, where)


async def test_vectors_do_not_wait_for_the_words_of_the_same_search() -> None:
    embedder = CountingEmbedder()
    store = WatchedStore(embedder)
    async with Library(store, embedder=embedder) as library:
        await library.add(parse_markdown("# Cars\n\nA car has wheels.", "cars.md"))
        assert len(await library.search("automobile")) == 1
    assert store.began == ["vectors", "words, with 2 texts embedded"]


async def test_one_letter_with_a_star_counts_all_words_that_begin_so() -> None:
    async with Library() as library:
        await library.add(parse_markdown("# A\n\nA nose, a neck, a nail and a note of them.", "many.md"))
        await library.add(parse_markdown("# B\n\nA single nose, and a hand, an arm and a leg.", "single.md"))
        best, second = await library.text("n*")
    assert (best.uri, second.uri) == ("many.md", "single.md")
    assert second.score < 0.9
