"""Fusion of several rankings into a single one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tactician.rag.chunk_store import RankedChunk


def fuse_scores(rankings: Iterable[tuple[float, Sequence[RankedChunk]]]) -> list[RankedChunk]:
    """Return the chunks of all rankings by the weighted sums of their relative scores, the best first.

    In each ranking, the best chunk counts 1 and the last one 0: so a chunk that is far better than the others stays
    ahead, which its rank alone does not tell. A chunk that is first in all rankings has the score 1.

    Args:
        rankings: the rankings with their weights, whose sum is 1.
    """
    scores: dict[int, float] = {}
    for weight, ranking in rankings:
        best = max((score for _, score in ranking), default=0.0)
        least = min((score for _, score in ranking), default=0.0)
        for number, score in ranking:
            share = (score - least) / (best - least) if best > least else 1.0
            scores[number] = scores.get(number, 0.0) + weight * share
    return sorted((RankedChunk(*each) for each in scores.items()), key=lambda chunk: -chunk.score)
