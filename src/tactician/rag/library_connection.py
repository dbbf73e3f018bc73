"""Connection to the database of a library: what SQLite and PostgreSQL do each in its own way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from tactician.rag.chunk_store import RankedChunk
from tactician.rag.word_query import WordBounds, WordQuery, WordSyntax

T = TypeVar("T")
CHUNK_COLUMNS_TO_WRITE: Final = "document, position, section, path, text, digest"


class ChunkToWrite(NamedTuple):
    """Row of a new chunk."""

    document: int
    position: int
    section: str | None
    path: str
    text: str
    digest: bytes


class LibraryConnection(WordBounds, Protocol):
    """Connection whose statements have the values `$1`, `$2` and so on; most are the same in all databases.

    Attributes:
        syntax: the query language of the index of words.
    """

    syntax: WordSyntax

    async def fetch(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""
        ...

    async def write(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""
        ...

    async def write_chunks(self, rows: Iterable[ChunkToWrite]) -> None:
        """Add chunks, and their words to the index."""
        ...

    def select_members(self, value: str, kind: str = "bigint") -> str:
        """Return the query for the column `member` with what is in a value of a statement, which is a list in JSON.

        Args:
            value: the place of the value, such as `$1`.
            kind: the type of the members.
        """
        ...

    def has_chunks(self, word: str) -> str:
        """Return the condition that the index has chunks with a word, which is a column."""
        ...

    async def count_matches(self, expressions: Collection[str], most: int) -> dict[str, int]:
        """Return the numbers of chunks that expressions of the index find; above `most`, they may be estimates."""
        ...

    async def rank_matches(self, query: WordQuery, top_k: int, documents: str | None) -> list[RankedChunk]:
        """Return the best chunks of a query, with scores of any size.

        Args:
            query: the query.
            top_k: the largest number of chunks.
            documents: the numbers of the documents that are searched, as a list in JSON; all of them, when `None`.
        """
        ...

    def refresh_alone(self) -> AbstractAsyncContextManager[object]:
        """Return a context in which nobody else refreshes what is kept in memory."""
        ...

    async def compute(self, work: Callable[[], T]) -> T:
        """Return the result of work that needs the processor only, and must not hold up others."""
        ...
