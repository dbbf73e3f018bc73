"""Contract of the stores that libraries keep their documents in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, Protocol

from tactician.frozen import frozen
from tactician.llm.embeddings.model import Vector
from tactician.rag.elements import Chunk, ContentRoot, Metadata
from tactician.rag.filters import Filter
from tactician.rag.operations import RegexSearch, ResultExpansion
from tactician.rag.text_query import TextQuery


@frozen(kw_only=True)
class DocumentRecord:
    """Entry of a document in a library.

    Attributes:
        uri: the address.
        title: the title.
        fingerprint: hash of the content, and of how it was divided; another fingerprint means that it has changed.
        chunks: the number of chunks.
        ingested_at: the time of ingestion, in seconds since the epoch.
        metadata: facts about the document.
    """

    uri: str
    title: str
    fingerprint: str
    chunks: int
    ingested_at: float
    metadata: Metadata = field(default_factory=dict)


@frozen(kw_only=True)
class StoreStatistics:
    """Size of a library.

    Attributes:
        documents: the number of documents.
        sections: the number of sections with text.
        chunks: the number of chunks.
        characters: the characters of all chunks.
        vectors: the number of vectors, by the name of the embedding model.
    """

    documents: int
    sections: int
    chunks: int
    characters: int
    vectors: Mapping[str, int]


@frozen
class TextToEmbed:
    """Text of chunks that an embedding model has made no vector of.

    Attributes:
        digest: hash of the text.
        text: the text.
    """

    digest: bytes
    text: str


class RankedChunk(NamedTuple):
    """Chunk that was found but not read yet: many are found of which few are read.

    Attributes:
        number: the number by which the store knows the chunk.
        score: the score, from 0 to 1.
    """

    number: int
    score: float


class ChunkStore(RegexSearch, ResultExpansion, Protocol):
    """Store of documents with an index of their words, and of vectors that are made elsewhere.

    Vectors are kept by the hash of their text and by the name of their model: vectors of different models are never
    compared, and a chunk whose text is unchanged needs no other vector.
    """

    async def save(self, root: ContentRoot, chunks: Sequence[Chunk], record: DocumentRecord) -> None:
        """Add a document, or replace the document at its address; all at once, or nothing."""
        ...

    async def remove(self, uri: str) -> bool:
        """Remove the document at an address, and return whether it was there."""
        ...

    async def find_document(self, uri: str) -> DocumentRecord | None:
        """Return the entry of the document at an address, or `None`."""
        ...

    async def list_documents(self) -> tuple[DocumentRecord, ...]:
        """Return the entries of all documents, in the order of their ingestion."""
        ...

    async def measure(self) -> StoreStatistics:
        """Return the size of the store."""
        ...

    async def read_chunks(self, numbers: Sequence[int]) -> Mapping[int, Chunk]:
        """Return the chunks with these numbers that are still there, by their numbers."""
        ...

    async def find_words(self, query: TextQuery, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks with the words of a query, the best first, with scores relative to the best."""
        ...

    async def list_unembedded(self, model: str, limit: int, after: bytes = b"") -> tuple[TextToEmbed, ...]:
        """Return at most `limit` different texts of chunks that have no vector of a model, in the order of hashes.

        Args:
            model: the name of the model.
            limit: the largest number of texts.
            after: the texts' hashes are greater than this hash.
        """
        ...

    async def save_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors of a model by the hashes of their texts.

        Raises:
            ConfigurationError: when they have not the length of the model's other vectors.
        """
        ...

    async def find_nearest(self, model: str, vector: Vector, top_k: int, where: Filter) -> Sequence[RankedChunk]:
        """Return the chunks whose vectors of a model are nearest to a vector, with the cosines as scores."""
        ...

    async def aclose(self) -> None:
        """Close the store."""
        ...
