"""Division of documents into chunks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.frozen import frozen
from tactician.rag.deadlines import check_deadline
from tactician.rag.elements import Chunk, ContentRoot, LeafSection

if TYPE_CHECKING:
    from semantic_text_splitter import MarkdownSplitter

_TABLE: Final = re.compile(
    r"^(?P<head> {0,3}\|[^\n]*\n {0,3}\|(?=[^\n]*-)[ \t:|-]*\n)(?P<rows>(?: {0,3}\|[^\n]*(?:\n|\Z))+)", re.MULTILINE
)
_PATH_SEPARATOR: Final = " > "
_LONGEST_HEADING: Final = 0.4
_BLOCK: Final = 64_000
"""Characters that are divided into pieces at once."""


class Table(NamedTuple):
    """Table in a text.

    Attributes:
        head: the names of its columns, with the line under them.
        start: the place of its first row.
        end: the place after its last row.
    """

    head: str
    start: int
    end: int


def find_tables(text: str, longest_head: int) -> list[Table]:
    """Return the tables of a text whose heads are not too long to be repeated."""
    tables = (Table(match["head"], match.start("rows"), match.end()) for match in _TABLE.finditer(text))
    return [table for table in tables if len(table.head) <= longest_head]


class TableHeads:
    """Heads of the tables of a text, by their places.

    Args:
        tables: the tables, in order.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._starts = [table.start for table in tables]

    def find(self, text: str, start: int) -> str:
        """Return the head of the table that a piece of the text begins in; empty where it begins elsewhere."""
        # Within a row, the head would name the wrong columns.
        if start == 0 or text[start - 1] != "\n":
            return ""
        place = bisect_right(self._starts, start) - 1
        return self._tables[place].head if place >= 0 and start < self._tables[place].end else ""


@frozen
class Chunking:
    """Sizes of chunks, in characters. The defaults come from Embabel's guide.

    A section that is short enough is one chunk. A longer one is divided where its structure is weakest to break:
    between blocks, then between sentences, then between words. Of a table that is divided, each piece has the names of
    the columns.

    Attributes:
        max_chars: the longest text of a chunk, with its titles.
        overlap: the characters that a chunk may repeat of the one before it, so that no sentence is torn apart.
        section_titles: true to begin each chunk with the titles from the document to its section.
    """

    max_chars: int = 1500
    overlap: int = 200
    section_titles: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.max_chars or self.max_chars < 50:
            raise ConfigurationError(
                f"Chunking(max_chars={self.max_chars}, overlap={self.overlap}): max_chars is at least 50, and the "
                "overlap is shorter than a chunk."
            )


DEFAULT_CHUNKING: Final = Chunking()


def split_document(root: ContentRoot, chunking: Chunking = DEFAULT_CHUNKING) -> tuple[Chunk, ...]:
    """Return the chunks of a document, in order.

    Raises:
        MissingExtraError: when a section is longer than a chunk, and the extra `rag` is not installed.
    """
    pieces = [(leaf, text) for leaf in root.leaves for text in _split_section(leaf, chunking)]
    return tuple(
        Chunk(
            id=f"{root.id}.{position}",
            uri=root.uri,
            path=leaf.path,
            parent_id=leaf.id,
            text=text,
            position=position,
            metadata=root.metadata,
        )
        for position, (leaf, text) in enumerate(pieces)
    )


def _split_section(leaf: LeafSection, chunking: Chunking) -> Iterator[str]:
    heading = _format_heading(leaf, chunking)
    room = chunking.max_chars - len(heading)
    body = leaf.text.strip()
    pieces = [body] if len(body) <= room else _split_text(body, room, chunking.overlap)
    return (f"{heading}{piece}" for piece in pieces if piece.strip())


def _split_text(text: str, room: int, overlap: int) -> Iterator[str]:
    """Yield the pieces of a text. A piece that begins in a table begins with the names of its columns."""
    tables = find_tables(text, int(room * _LONGEST_HEADING))
    capacity = room - max((len(table.head) for table in tables), default=0)
    splitter = _create_splitter(capacity, min(overlap, capacity - 1))
    heads = TableHeads(tables)
    for block_start, block_end in divide_text(text, max(_BLOCK, 8 * room)):
        check_deadline()
        for start, piece in splitter.chunk_indices(text[block_start:block_end]):
            yield f"{heads.find(text, block_start + start)}{piece}"


def divide_text(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of blocks of a text of at most `most` characters, divided where that tears least apart.

    The splitter takes time by the square of the length of a paragraph or line: so it gets one block at a time.
    """
    start = 0
    while len(text) - start > most:
        cuts = (text.rfind(mark, start + most // 2, start + most) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((cut for cut in cuts if cut > start + most // 2), start + most)
        yield start, end
        start = end
    yield start, len(text)


def _format_heading(leaf: LeafSection, chunking: Chunking) -> str:
    """Return the titles as the first line of a chunk. Where they are too long, only the last of them stay."""
    if not chunking.section_titles:
        return ""
    most = int(chunking.max_chars * _LONGEST_HEADING)
    titles = [title for i, title in enumerate(leaf.path) if i == 0 or title != leaf.path[i - 1]]
    while len(titles) > 1 and len(_PATH_SEPARATOR.join(titles)) > most:
        del titles[0]
    return f"{_PATH_SEPARATOR.join(titles)[:most]}\n\n"


def _create_splitter(capacity: int, overlap: int) -> MarkdownSplitter:
    with require_extra("rag", "Chunks of long sections need"):
        from semantic_text_splitter import MarkdownSplitter
    return MarkdownSplitter(capacity, overlap)
