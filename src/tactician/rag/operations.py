"""Searches that a library can offer, each a protocol of its own.

What a library cannot do is missing from its type: `isinstance(library, VectorSearch)` says whether there are vectors,
and `RagTools` gives a model the tools for what is there and no others. Source of the division: Embabel's guide,
"SearchOperations".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Protocol, overload, runtime_checkable

from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.rag.elements import Chunk, ContentRoot, Section
from tactician.rag.filters import Where

TOP_K = 10
"""Hits of a search by default."""


class SearchQueryError(ToolError):
    """Error for a query that cannot be searched for. Its message is for the model that wrote the query."""


class SearchMethod(StrEnum):
    """Method of a search."""

    VECTOR = "vector"
    TEXT = "text"
    REGEX = "regex"
    HYBRID = "hybrid"


@frozen
class ChunkHit:
    """Chunk as the result of a search.

    Attributes:
        chunk: the chunk.
        score: the score, from 0 to 1. By vectors the cosine; in texts the share of the best hit's score; of a hybrid
            search the share of the score of a chunk that is first by both.
        found_by: the searches with this result.
    """

    chunk: Chunk
    score: float
    found_by: tuple[SearchMethod, ...] = ()

    @property
    def id(self) -> str:
        """Id of the chunk."""
        return self.chunk.id

    @property
    def text(self) -> str:
        """Text of the chunk."""
        return self.chunk.text

    @property
    def uri(self) -> str:
        """Address of the document."""
        return self.chunk.uri


@frozen
class SearchResults(Sequence[ChunkHit]):
    """Hits of a search, the best first.

    Attributes:
        hits: the hits.
        method: the method of the search.
        note: what a reader of the results has to know: that there are no vectors, or that time ran out.
    """

    hits: tuple[ChunkHit, ...]
    method: SearchMethod
    note: str = ""

    @overload
    def __getitem__(self, index: int) -> ChunkHit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ChunkHit, ...]: ...
    def __getitem__(self, index: int | slice) -> ChunkHit | tuple[ChunkHit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[ChunkHit]:
        return iter(self.hits)


def check_top_k(top_k: int) -> None:
    """Check the largest number of hits of a search.

    Raises:
        SearchQueryError: when it is less than 1.
    """
    if top_k < 1:
        raise SearchQueryError(f"A search returns at least one hit: top_k is {top_k}. Use 1 or more.")


@runtime_checkable
class VectorSearch(Protocol):
    """Search by meaning."""

    async def vector(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the chunks whose meaning is nearest to the query's.

        Args:
            query: a question, or a text like what is looked for.
            top_k: the largest number of hits.
            threshold: the lowest score, from 0 to 1.
            where: a filter on metadata.
        """
        ...


@runtime_checkable
class TextSearch(Protocol):
    """Search for words."""

    async def text(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the chunks with the words of the query.

        Args:
            query: words, of which a chunk needs one; `+word` must occur, `-word` must not, `"a phrase"` occurs word
                for word, `word*` is the beginning of words, `word~` allows for typing errors.
            top_k: the largest number of hits.
            threshold: the lowest score, from 0 to 1.
            where: a filter on metadata.

        Raises:
            SearchQueryError: when there is nothing to search for.
        """
        ...


@runtime_checkable
class RegexSearch(Protocol):
    """Search by regular expressions."""

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches, in the order of the documents.

        Raises:
            SearchQueryError: when the expression is not valid, or takes too long.
        """
        ...


@runtime_checkable
class HybridSearch(Protocol):
    """Search by all that a library has."""

    async def search(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the best chunks by meaning and by words together; `method` and `note` say what was searched by.

        Args:
            query: a question in plain language.
            top_k: the largest number of hits.
            threshold: the lowest score, from 0 to 1.
            where: a filter on metadata.
        """
        ...


@runtime_checkable
class ResultExpansion(Protocol):
    """Text around hits."""

    async def load_chunks(self, ids: Sequence[str], *, where: Where = None) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist and that the filter accepts."""
        ...

    async def expand(self, id: str, count: int = 1, *, where: Where = None) -> tuple[Chunk, ...]:
        """Return a chunk with `count` chunks before it and after it; empty when there is no such chunk."""
        ...

    async def zoom_out(self, id: str, *, where: Where = None) -> Section | ContentRoot | None:
        """Return the section around a chunk, or the section or document around a section, or `None`."""
        ...
