"""Fusion of several rankings into a single one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tactician.rag.chunk_store import RankedChunk

_RANK_CONSTANT: Final = 60
"""Weight of low ranks, as Cormack, Clarke and Büttcher chose it in "Reciprocal Rank Fusion" (SIGIR 2009)."""


def fuse_ranks(rankings: Sequence[Sequence[RankedChunk]]) -> list[RankedChunk]:
    """Return the chunks of all rankings by reciprocal rank fusion, the best first.

    A chunk that is first in all of them has the score 1. Scores of the rankings are not compared with each other.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (number, _) in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + (_RANK_CONSTANT + 1) / (_RANK_CONSTANT + rank) / len(rankings)
    return sorted((RankedChunk(*each) for each in scores.items()), key=lambda chunk: -chunk.score)
