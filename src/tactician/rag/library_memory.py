"""Parts of a library that a process keeps in memory: facts about documents, counts of words, words, and vectors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from tactician.rag.elements import Metadata
from tactician.rag.filters import Filter
from tactician.rag.library_connection import LibraryConnection
from tactician.rag.rows import parse_metadata
from tactician.rag.similar_words import Vocabulary
from tactician.rag.vector_index import VectorBlock, VectorIndex

_VECTORS_AT_ONCE: Final = 16_384
"""Vectors of a block: memory of many megabytes has larger pages, and is read a fifth faster."""
_MOST_COUNTS: Final = 20_000
_VECTOR_COLUMNS: Final = (
    "SELECT c.id, c.document, v.vector FROM library_vectors v JOIN library_chunks c ON c.digest = v.digest"
)
_Rows: TypeAlias = list[tuple[int, int, bytes]]


class DocumentFacts(NamedTuple):
    """Facts about a document: its metadata, and the number of its chunks."""

    metadata: Metadata
    chunks: int


class _Documents(NamedTuple):
    version: int
    facts: Mapping[int, DocumentFacts]


class _Counts(NamedTuple):
    version: int
    total: int
    matches: dict[str, int]


class _Words(NamedTuple):
    version: int
    vocabulary: Vocabulary


class _Vectors(NamedTuple):
    version: int
    model: str
    vectors: VectorIndex


class LibraryMemory:
    """Memory of a library. A part is refreshed when it is used and the library has another version.

    Each write increments the version. The version after a document was added is its number too: a document never
    changes, and those with greater numbers than a version are newer.
    """

    def __init__(self) -> None:
        self._documents = _Documents(0, {})
        self._counts = _Counts(0, 0, {})
        self._words = _Words(0, Vocabulary())
        self._vectors: _Vectors | None = None

    async def find_documents(self, connection: LibraryConnection, where: Filter) -> list[int] | None:
        """Return the numbers of the documents that a filter accepts, or `None` for all."""
        if not where:
            return None
        documents = await self._load_documents(connection)
        return [number for number, facts in documents.facts.items() if where.accepts(facts.metadata)]

    async def count_matches(
        self, connection: LibraryConnection, expressions: Collection[str], most: int
    ) -> tuple[Mapping[str, int], int]:
        """Return the numbers of chunks that expressions find, and the number of all chunks.

        Args:
            connection: the connection.
            expressions: the expressions.
            most: the number up to which chunks are counted; what is more may be an estimate.
        """
        version, cached_counts = await read_version(connection), self._counts
        if version != cached_counts.version or len(cached_counts.matches) > _MOST_COUNTS:
            ((total,),) = await connection.fetch("SELECT coalesce(sum(chunks), 0) FROM library_documents")
            self._counts = cached_counts = _Counts(version, total, {})
        if new := [each for each in expressions if each not in cached_counts.matches]:
            cached_counts.matches.update(await connection.count_matches(new, most))
        return cached_counts.matches, cached_counts.total

    async def load_words(self, connection: LibraryConnection) -> Vocabulary:
        """Return the words of the library, and some that were in earlier versions."""
        async with connection.refresh_alone():
            version, cached_words = await read_version(connection), self._words
            if version != cached_words.version:
                new = await connection.fetch(
                    "SELECT word FROM library_vocabulary WHERE version > $1", cached_words.version
                )
                await connection.compute(lambda: cached_words.vocabulary.add(word for (word,) in new))
                self._words = _Words(version, cached_words.vocabulary)
            return cached_words.vocabulary

    async def load_vectors(self, connection: LibraryConnection, model: str) -> VectorIndex:
        """Return the vectors of a model."""
        async with connection.refresh_alone():
            (version, documents), cached_vectors = await self._load_documents(connection), self._vectors
            if cached_vectors is None or cached_vectors.model != model:
                cached_vectors = _Vectors(-1, model, VectorIndex())
            if version != cached_vectors.version:
                vectors = await _refresh_index(connection, cached_vectors.vectors, model, documents)
                self._vectors = cached_vectors = _Vectors(version, model, vectors)
            return cached_vectors.vectors

    async def _load_documents(self, connection: LibraryConnection) -> _Documents:
        version, cached_documents = await read_version(connection), self._documents
        if version != cached_documents.version:
            there = {number for (number,) in await connection.fetch("SELECT id FROM library_documents")}
            new = await connection.fetch(
                "SELECT id, metadata, chunks FROM library_documents WHERE id > $1", cached_documents.version
            )
            facts = {number: each for number, each in cached_documents.facts.items() if number in there}
            facts |= {number: DocumentFacts(parse_metadata(text), chunks) for number, text, chunks in new}
            self._documents = cached_documents = _Documents(version, facts)
        return cached_documents


async def read_version(connection: LibraryConnection) -> int:
    """Return the version of the library."""
    ((version,),) = await connection.fetch("SELECT version FROM library_state")
    return int(version)


async def _refresh_index(
    connection: LibraryConnection, index: VectorIndex, model: str, documents: Mapping[int, DocumentFacts]
) -> VectorIndex:
    """Return an index with the vectors that the library has now."""
    loaded = index.count_by_document()
    missing = [number for number, facts in documents.items() if loaded.get(number, 0) < facts.chunks]
    gone = [number for number in loaded if number not in documents]
    reading = _read_vectors_of(connection, model, missing, documents) if loaded else _read_vectors(connection, model)
    blocks = [await connection.compute(partial(VectorBlock.of, rows)) async for rows in reading if rows]
    return await connection.compute(partial(index.replace, [*gone, *missing], blocks))


async def _read_vectors(connection: LibraryConnection, model: str) -> AsyncIterator[_Rows]:
    """Yield the vectors of all documents, in groups of some thousands."""
    ((count,),) = await connection.fetch("SELECT count(*) FROM library_vectors WHERE model = $1", model)
    groups = 1 + count // _VECTORS_AT_ONCE
    # Hashes are distributed evenly: ranges of the same size have the same number of them, roughly.
    bounds = [(2**16 * number // groups).to_bytes(2, "big") for number in range(groups)]
    for first, end in pairwise([*bounds, b"\xff" * 17]):
        yield await connection.fetch(
            f"{_VECTOR_COLUMNS} WHERE v.model = $1 AND v.digest >= $2 AND v.digest < $3", model, first, end
        )


async def _read_vectors_of(
    connection: LibraryConnection, model: str, numbers: Collection[int], documents: Mapping[int, DocumentFacts]
) -> AsyncIterator[_Rows]:
    """Yield the vectors of some documents, in groups of some thousands."""
    chosen = connection.select_members("$2")
    for group in _divide(numbers, documents):
        yield await connection.fetch(
            f"{_VECTOR_COLUMNS} WHERE v.model = $1 AND c.document IN ({chosen})", model, json.dumps(group)
        )


def _divide(numbers: Collection[int], documents: Mapping[int, DocumentFacts]) -> Iterator[list[int]]:
    """Yield groups of documents, each with some thousand chunks."""
    group: list[int] = []
    chunks = 0
    for number in numbers:
        group.append(number)
        chunks += documents[number].chunks
        if chunks >= _VECTORS_AT_ONCE:
            yield group
            group, chunks = [], 0
    if group:
        yield group
