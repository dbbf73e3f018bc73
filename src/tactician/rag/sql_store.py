"""Store of a library in a database with SQL."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from tactician.llm.embeddings.model import Vector
from tactician.rag.chunk_store import ChunkStore, DocumentRecord, RankedChunk, StoreStatistics, TextToEmbed
from tactician.rag.elements import Chunk, ContentRoot, Section
from tactician.rag.filters import Filter, Where
from tactician.rag.library_database import LibraryDatabase
from tactician.rag.operations import TOP_K, ChunkHit, SearchMethod, SearchResults
from tactician.rag.regex_match import BoundedPattern
from tactician.rag.rows import split_chunk_id
from tactician.rag.text_query import ClauseKind, TextQuery

T = TypeVar("T")
Work: TypeAlias = Callable[[LibraryDatabase], Coroutine[Any, Any, T]]


class SqlChunkStore(ChunkStore):
    """Documents in a database with SQL. Vectors are read into memory on the first search by them.

    Args:
        regex_seconds: the seconds that a search by a regular expression may take.
    """

    def __init__(self, regex_seconds: float) -> None:
        self._regex_seconds = regex_seconds

    @abstractmethod
    async def _read(self, work: Work[T]) -> T:
        """Return the result of work in the database that changes nothing."""

    @abstractmethod
    async def _write(self, work: Work[T]) -> T:
        """Return the result of work whose changes are all made, or none of them."""

    async def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address."""
        await self._write(lambda database: database.save(root, chunks, record))

    async def remove(self, uri: str) -> bool:
        """Remove the document at an address, and return whether it was there."""
        return await self._write(lambda database: database.remove(uri))

    async def find_document(self, uri: str) -> DocumentRecord | None:
        """Return the entry of the document at an address, or `None`."""
        return await self._read(lambda database: database.find_document(uri))

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        return await self._read(lambda database: database.list_documents())

    async def measure(self) -> StoreStatistics:
        """Return the size of the store."""
        return await self._read(lambda database: database.measure())

    async def read_chunks(self, numbers: Sequence[int]) -> Mapping[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        return await self._read(lambda database: database.read_chunks(numbers))

    async def find_words(self, query: TextQuery, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks with the words of a query, the best first, with scores relative to the best."""
        similar = await self._find_similar(query)
        return await self._read(lambda database: database.find_words(query, similar, top_k, where))

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches; see `RegexSearch`.

        The texts are read and matched here, since the expressions of databases are of other kinds.
        """
        accepted = Filter.of(where)
        selected: list[ChunkHit] = []
        after = 0
        async with BoundedPattern(pattern, self._regex_seconds) as bounded:
            while len(selected) < top_k:
                if not (batch := await self._read_texts(after, accepted)):
                    break
                after = batch[-1][0]
                matches = await bounded.select([text for _, text in batch])
                numbers = [number for (number, _), matched in zip(batch, matches, strict=True) if matched]
                chunks = await self.read_chunks(numbers[: top_k - len(selected)])
                selected += [ChunkHit(chunks[each], 1.0, (SearchMethod.REGEX,)) for each in numbers if each in chunks]
        return SearchResults(tuple(selected[:top_k]), SearchMethod.REGEX)

    async def load_chunks(self, ids: Sequence[str], *, where: Where = None) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist and that the filter accepts."""
        accepted = Filter.of(where)
        places = [place for place in map(split_chunk_id, ids) if place is not None]
        chunks = [chunk for key, position in places for chunk in await self._read_range(key, position, position)]
        return tuple(chunk for chunk in chunks if accepted.accepts(chunk.metadata))

    async def expand(self, id: str, count: int = 1, *, where: Where = None) -> tuple[Chunk, ...]:
        """Return a chunk with `count` chunks before it and after it; empty when there is no such chunk."""
        if (place := split_chunk_id(id)) is None:
            return ()
        key, position = place
        chunks = await self._read_range(key, position - count, position + count)
        is_found = any(chunk.id == id and Filter.of(where).accepts(chunk.metadata) for chunk in chunks)
        return chunks if is_found else ()

    async def zoom_out(self, id: str, *, where: Where = None) -> Section | ContentRoot | None:
        """Return the section around a chunk, or the section or document around a section, or `None`."""
        return await self._read(lambda database: database.zoom_out(id, Filter.of(where)))

    async def list_unembedded(self, model: str, limit: int, after: bytes = b"") -> tuple[TextToEmbed, ...]:
        """Return at most `limit` different texts of chunks that have no vector of a model, in the order of hashes."""
        return await self._read(lambda database: database.list_unembedded(model, limit, after))

    async def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts."""
        await self._write(lambda database: database.save_vectors(model, vectors))

    async def find_nearest(self, model: str, vector: Vector, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks whose vectors of a model are nearest to a vector, with the cosines as scores."""
        index, documents = await self._read(lambda database: database.load_vectors(model, where))
        # Comparing needs the processor only: it goes on beside the work of the database.
        return await asyncio.to_thread(index.find_nearest, vector, top_k, documents)

    async def _find_similar(self, query: TextQuery) -> Mapping[str, Sequence[str]]:
        """Return the words of the library that are similar to the fuzzy words of a query."""
        fuzzy = [clause.words[0] for clause in query.clauses if clause.kind is ClauseKind.FUZZY]
        if not fuzzy:
            return {}
        vocabulary = await self._read(lambda database: database.load_vocabulary())
        return await asyncio.to_thread(lambda: {word: vocabulary.find_similar(word) for word in fuzzy})

    async def _read_texts(self, after: int, where: Filter) -> list[tuple[int, str]]:
        return await self._read(lambda database: database.read_texts(after, where))

    async def _read_range(self, key: str, first: int, last: int) -> tuple[Chunk, ...]:
        return await self._read(lambda database: database.read_range(key, first, last))
