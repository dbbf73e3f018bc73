"""Fusion of several lists of hits into a single list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tactician.rag.operations import ChunkHit

_RANK_CONSTANT: Final = 60
"""Weight of low ranks, as Cormack, Clarke and Büttcher chose it in "Reciprocal Rank Fusion" (SIGIR 2009)."""


def fuse_ranks(lists: Sequence[Sequence[ChunkHit]]) -> tuple[ChunkHit, ...]:
    """Return the hits of all lists by reciprocal rank fusion, the best first.

    A hit that is first in all lists has the score 1. Scores of the lists are not compared with each other.
    """
    scores: dict[str, float] = {}
    hits_by_id: dict[str, ChunkHit] = {}
    for hits in lists:
        for rank, hit in enumerate(hits, 1):
            scores[hit.id] = scores.get(hit.id, 0.0) + (_RANK_CONSTANT + 1) / (_RANK_CONSTANT + rank) / len(lists)
            known = hits_by_id.get(hit.id)
            found_by = (*(known.found_by if known else ()), *hit.found_by)
            hits_by_id[hit.id] = ChunkHit(hit.chunk, 0.0, found_by)
    ordered = sorted(hits_by_id.values(), key=lambda hit: -scores[hit.id])
    return tuple(ChunkHit(hit.chunk, min(1.0, scores[hit.id]), hit.found_by) for hit in ordered)
