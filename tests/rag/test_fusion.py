"""Fusion of rankings: relative scores, weighted."""

from __future__ import annotations

import pytest

from tactician.rag.chunk_store import RankedChunk
from tactician.rag.fusion import fuse_scores


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
