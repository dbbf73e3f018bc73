"""Library: documents that are searched for words, by regular expressions and, with an embedder, by meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Final, Self, TypeAlias, TypeVar, overload

from tactician.errors import ConfigurationError
from tactician.llm.embeddings.model import Vector
from tactician.rag.addresses import open_chunk_store
from tactician.rag.chunk_store import ChunkStore, DocumentRecord, RankedChunk, StoreStatistics
from tactician.rag.chunking import DEFAULT_CHUNKING, Chunking, split_document
from tactician.rag.deadlines import run_cancellable
from tactician.rag.elements import Chunk, ContentRoot, Metadata, Section, create_document_id
from tactician.rag.embedding import ChunkEmbedder, Embedder
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.filters import Filter, Where
from tactician.rag.fusion import fuse_scores
from tactician.rag.ingestion import Ingestion, IngestionOptions, IngestionReport, ProgressListener, RefreshPolicy
from tactician.rag.operations import (
    TOP_K,
    ChunkHit,
    HybridSearch,
    RegexSearch,
    ResultExpansion,
    SearchMethod,
    SearchResults,
    TextSearch,
    VectorSearch,
    check_top_k,
)
from tactician.rag.parser_process import DEFAULT_LIMITS, ParserLimits
from tactician.rag.reranking import CANDIDATES, Reranker
from tactician.rag.text_query import TextQuery, parse_question, parse_text_query
from tactician.runs import report_retrieval
from tactician.suggestions import suggest_options

SequenceT = TypeVar("SequenceT", bound=Sequence[object])
_Rankings: TypeAlias = Mapping[SearchMethod, Sequence[RankedChunk]]
_CANDIDATES: Final = 50
"""Hits of each search, at least, of which a hybrid search makes a single list."""
VECTOR_WEIGHT: Final = 1 / 3
"""Weight of vectors in a hybrid search by default: words that a question and a text share are the better sign."""
_NO_VECTORS: Final = "The library has no embedder: these hits come from words alone."


@suggest_options
class Library(TextSearch, RegexSearch, HybridSearch, ResultExpansion):
    """Documents that can be searched. With an embedder, it is a `VectorLibrary`, which searches by meaning too.

    Args:
        location: a path of an SQLite file, the URL of a PostgreSQL database, or a store; in memory by default.
        embedder: an embedding model, or its name among the models of the run.
        chunking: the sizes of chunks.
        reranker: the order of the hits of `search`, such as `ModelReranker()`.
        vector_weight: the weight of vectors in a hybrid search, from 0 to 1; words have the remaining weight.

    Raises:
        ConfigurationError: when the location or the weight is not valid.
        MissingExtraError: when the extra that the location needs is not installed.
    """

    store: ChunkStore
    chunking: Chunking
    reranker: Reranker | None
    vector_weight: float

    @overload
    def __new__(
        cls,
        location: str | Path | ChunkStore | None = None,
        *,
        embedder: Embedder,
        chunking: Chunking = DEFAULT_CHUNKING,
        reranker: Reranker | None = None,
        vector_weight: float = VECTOR_WEIGHT,
    ) -> VectorLibrary: ...
    @overload
    def __new__(
        cls,
        location: str | Path | ChunkStore | None = None,
        *,
        embedder: None = None,
        chunking: Chunking = DEFAULT_CHUNKING,
        reranker: Reranker | None = None,
        vector_weight: float = VECTOR_WEIGHT,
    ) -> Library: ...
    def __new__(
        cls,
        location: str | Path | ChunkStore | None = None,
        *,
        embedder: Embedder | None = None,
        chunking: Chunking = DEFAULT_CHUNKING,
        reranker: Reranker | None = None,
        vector_weight: float = VECTOR_WEIGHT,
    ) -> Library:
        """Return a library of the class that can do what there is: without an embedder, nothing by meaning."""
        library = object.__new__(cls if embedder is None else VectorLibrary)
        library.store = open_chunk_store(location)
        library.chunking = chunking
        library.reranker = reranker
        library.vector_weight = _check_weight(vector_weight)
        if isinstance(library, VectorLibrary) and embedder is not None:
            library.embedder = ChunkEmbedder(embedder, library.store)
        return library

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the store."""
        await self.store.aclose()

    async def add(self, root: ContentRoot, *, fingerprint: str = "") -> int:
        """Add a document, or replace the document at its address, and return the number of its chunks.

        Args:
            root: the document.
            fingerprint: hash of its content, by which a later ingestion sees whether it has changed.
        """
        chunks = await run_cancellable(lambda: split_document(root, self.chunking))
        record = DocumentRecord(
            uri=root.uri,
            title=root.title,
            fingerprint=fingerprint,
            chunks=len(chunks),
            ingested_at=time(),
            metadata=root.metadata,
        )
        await self.store.save(root, chunks, record)
        return len(chunks)

    async def ingest(
        self,
        *locations: str | Path,
        metadata: Metadata | None = None,
        policy: RefreshPolicy = RefreshPolicy.CHANGED,
        limits: ParserLimits = DEFAULT_LIMITS,
        allow_private: bool = False,
        listener: ProgressListener | None = None,
    ) -> IngestionReport:
        """Read documents, and add those that are new or have changed.

        Args:
            locations: paths of files and folders, and addresses with http:// or https://.
            metadata: facts about all the documents, for filters.
            policy: the rule for documents that the library already has.
            limits: limits of what a document may take.
            allow_private: true to fetch pages of this machine and of private networks.
            listener: function that is called with the progress.

        Returns:
            A report, with the documents that could not be read and the reasons.
        """
        options = IngestionOptions(metadata=metadata or {}, policy=policy, limits=limits, allow_private=allow_private)
        return await Ingestion(self, options, listener).run(locations)

    async def ingest_if_needed(self, location: str | Path) -> str | None:
        """Ingest a document that the library does not have, and return its id; `None` when the library has it.

        Raises:
            UnreadableDocumentError: when it cannot be read.
        """
        report = await self.ingest(location, policy=RefreshPolicy.NEVER)
        if report.failures:
            raise UnreadableDocumentError(str(report.failures[0]))
        return create_document_id(report.added[0]) if report.added else None

    async def remove(self, uri: str) -> bool:
        """Remove the document at an address, and return whether it was there."""
        return await self.store.remove(uri)

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        return await self.store.list_documents()

    async def measure(self) -> StoreStatistics:
        """Return the size of the library."""
        return await self.store.measure()

    async def search(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the best chunks by all that the library has; see `HybridSearch`."""
        check_top_k(top_k)
        count = top_k if self.reranker is None else max(top_k, CANDIDATES)
        results = await self._report(self._search(query, count, threshold, Filter.of(where)), query, top_k)
        if self.reranker is None:
            return results
        hits = await self.reranker.rerank(query, results.hits)
        return replace(results, hits=tuple(hits[:top_k]))

    async def text(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the chunks with the words of a query, which may have operators; see `TextSearch`."""
        check_top_k(top_k)
        finding = self._find_words(parse_text_query(query), top_k, threshold, Filter.of(where))
        return await self._report(finding, query, top_k)

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches; see `RegexSearch`."""
        check_top_k(top_k)
        return await self._report(self.store.regex(pattern, top_k=top_k, where=where), pattern, top_k)

    async def load_chunks(self, ids: Sequence[str], *, where: Where = None) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist and that the filter accepts."""
        return await self.store.load_chunks(ids, where=where)

    async def expand(self, id: str, count: int = 1, *, where: Where = None) -> tuple[Chunk, ...]:
        """Return a chunk with `count` chunks before it and after it; empty when there is no such chunk."""
        return await self.store.expand(id, count, where=where)

    async def zoom_out(self, id: str, *, where: Where = None) -> Section | ContentRoot | None:
        """Return the section around a chunk, or the section or document around a section, or `None`."""
        return await self.store.zoom_out(id, where=where)

    async def _report(self, searching: Awaitable[SearchResults], query: str, top_k: int) -> SearchResults:
        """Await a search with events before and after it, so that traces show it."""
        return await report_retrieval(searching, repr(self.store), query, limit=top_k, name=_name_hits)

    async def _search(self, query: str, top_k: int, threshold: float, where: Filter) -> SearchResults:
        results = await self._find_words(parse_question(query), top_k, threshold, where)
        return replace(results, note=_NO_VECTORS)

    async def _find_words(self, query: TextQuery, top_k: int, threshold: float, where: Filter) -> SearchResults:
        ranked = await self.store.find_words(query, top_k, where)
        return await self._read(_select(ranked, top_k, threshold), SearchMethod.TEXT, {SearchMethod.TEXT: ranked})

    async def _read(self, chosen: Sequence[RankedChunk], method: SearchMethod, rankings: _Rankings) -> SearchResults:
        """Return the results of a search: only the chosen ones of the chunks that were found are read."""
        chunks = await self.store.read_chunks([number for number, _ in chosen])
        numbers = [(by, {number for number, _ in ranking}) for by, ranking in rankings.items()]
        hits = (
            ChunkHit(chunks[number], score, tuple(by for by, members in numbers if number in members))
            for number, score in chosen
            if number in chunks
        )
        return SearchResults(tuple(hits), method)


@suggest_options
class VectorLibrary(Library, VectorSearch):
    """Library with vectors: `Library(..., embedder=...)`.

    Vectors are compared with vectors of the same model only. When the embedder is another than before, the
    chunks are embedded anew before the first search.
    """

    embedder: ChunkEmbedder

    async def add(self, root: ContentRoot, *, fingerprint: str = "") -> int:
        """Add a document, or replace the document at its address, and return the number of its chunks."""
        count = await super().add(root, fingerprint=fingerprint)
        self.embedder.expect_changes()
        return count

    async def ingest(
        self,
        *locations: str | Path,
        metadata: Metadata | None = None,
        policy: RefreshPolicy = RefreshPolicy.CHANGED,
        limits: ParserLimits = DEFAULT_LIMITS,
        allow_private: bool = False,
        listener: ProgressListener | None = None,
    ) -> IngestionReport:
        """Read documents, add those that are new or have changed, and embed their chunks; see `Library.ingest`."""
        report = await super().ingest(
            *locations, metadata=metadata, policy=policy, limits=limits, allow_private=allow_private, listener=listener
        )
        await self.embedder.embed_chunks()
        return report

    async def vector(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the chunks whose meaning is nearest to the query's; see `VectorSearch`."""
        check_top_k(top_k)
        return await self._report(self._find_meaning(query, top_k, threshold, Filter.of(where)), query, top_k)

    async def _find_meaning(self, query: str, top_k: int, threshold: float, where: Filter) -> SearchResults:
        ranked = await self.store.find_nearest(*await self._embed(query), top_k, where)
        return await self._read(_select(ranked, top_k, threshold), SearchMethod.VECTOR, {SearchMethod.VECTOR: ranked})

    async def _embed(self, query: str) -> tuple[str, Vector]:
        await self.embedder.embed_chunks()
        return await self.embedder.embed_query(query)

    async def _search(self, query: str, top_k: int, threshold: float, where: Filter) -> SearchResults:
        candidates = max(_CANDIDATES, top_k)
        model, vector = await self._embed(query)
        # In this order: vectors need the store for a moment only, and are compared beside its search for words.
        nearest, words = await asyncio.gather(
            self.store.find_nearest(model, vector, candidates, where),
            self.store.find_words(parse_question(query), candidates, where),
        )
        rankings = {SearchMethod.VECTOR: nearest, SearchMethod.TEXT: words}
        fused = fuse_scores([(self.vector_weight, nearest), (1 - self.vector_weight, words)])
        chosen = _select(fused, top_k, threshold)
        return await self._read(chosen, SearchMethod.HYBRID, rankings)


def _check_weight(weight: float) -> float:
    if not 0 <= weight <= 1:
        raise ConfigurationError(f"Library(vector_weight={weight}): the weight is between 0 and 1, as in 0.5.")
    return weight


def _select(ranked: Sequence[RankedChunk], top_k: int, threshold: float) -> list[RankedChunk]:
    """Return the best chunks, with scores that are no less than 0 and no more than 1."""
    bounded = (RankedChunk(number, max(0.0, min(1.0, score))) for number, score in ranked[:top_k])
    return [each for each in bounded if each.score >= threshold]


def _name_hits(results: SearchResults) -> Iterable[tuple[str, str]]:
    return ((hit.id, hit.uri) for hit in results)
