"""Vectors for the chunks of a library: made in batches, each text once for each model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tactician.llm import EmbeddingModel
from tactician.llm.embeddings.model import Vector
from tactician.llm.model_sources import as_media_source
from tactician.rag.chunk_store import ChunkStore
from tactician.runs import RunContext
from tactician.runs.reporting import report_model_call

Embedder: TypeAlias = EmbeddingModel | str
"""Embedding model, or its name among the models of the run."""
Progress: TypeAlias = Callable[[int], object]
_BATCH: Final = 1_024
_MOST_QUERIES: Final = 100


class ChunkEmbedder:
    """Embedding model with a store that the vectors are kept in.

    Usage of models counts to the run whose code searches or ingests.
    """

    def __init__(self, embedder: Embedder, store: ChunkStore) -> None:
        self._embedder = embedder
        self._store = store
        self._changes = 1
        self._embedded_changes = 0
        self._lock = asyncio.Lock()
        self._queries: dict[tuple[str, str], Vector] = {}

    @property
    def model(self) -> Embedder:
        """The model, or its name among the models of the run."""
        return self._embedder

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._find_model(RunContext.around()).name

    async def embed_query(self, query: str) -> tuple[str, Vector]:
        """Return the name of the model, and the vector of a query; recent queries are cached."""
        name = self.name
        if (vector := self._queries.pop((name, query), None)) is None:
            name, (vector,) = await self._embed((query,))
        self._queries[name, query] = vector  # the last of them
        if len(self._queries) > _MOST_QUERIES:
            del self._queries[next(iter(self._queries))]
        return name, vector

    def expect_changes(self) -> None:
        """Look for chunks without vectors when vectors are needed next."""
        self._changes += 1

    async def embed_chunks(self, report: Progress | None = None) -> int:
        """Make the vectors that chunks lack, and return their number.

        Args:
            report: function that is called with the number of vectors after each batch.
        """
        async with self._lock:
            changes = self._changes
            if self._embedded_changes == changes:
                return 0
            count = await self._embed_missing(report)
            self._embedded_changes = changes
            return count

    async def _embed_missing(self, report: Progress | None) -> int:
        count, last, size = 0, b"", _BATCH
        while size == _BATCH and (missing := await self._store.list_unembedded(self.name, _BATCH, last)):
            last, size = missing[-1].digest, len(missing)
            model, vectors = await self._embed([each.text for each in missing])
            await self._store.save_vectors(
                model, {each.digest: vector for each, vector in zip(missing, vectors, strict=True)}
            )
            count += size
            if report is not None:
                report(size)
        return count

    async def _embed(self, texts: Sequence[str]) -> tuple[str, tuple[Vector, ...]]:
        context = RunContext.around()
        model = self._find_model(context)
        answer = await report_model_call(model.embed(texts), context, "embeddings", model.name)
        context.tally.add(answer.usage.attribute_to(model.name))
        return model.name, answer.vectors

    def _find_model(self, context: RunContext) -> EmbeddingModel:
        if isinstance(self._embedder, str):
            return as_media_source(context.models).embedding_model(self._embedder)
        return self._embedder
