"""Citations: marks in answers that point to chunks, as `[cite:3f2a9c1b0d4e.7]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tactician.frozen import frozen
from tactician.rag.elements import Chunk
from tactician.rag.outline import name_document

_MARK: Final = re.compile(r"\[cite:([^\[\]\n]{1,1000})\]", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"[\s,;]+")
_UNKNOWN: Final = "[?]"


@frozen
class Citation:
    """Chunk that an answer cites.

    Attributes:
        number: the number of the source in the answer, from 1. Chunks of the same section have the same number.
        chunk: the chunk.
    """

    number: int
    chunk: Chunk

    @property
    def id(self) -> str:
        """Id of the chunk."""
        return self.chunk.id

    @property
    def source(self) -> str:
        """Titles from the document to the section, and the address of the document; of a file, its name only."""
        titles = " > ".join(title for i, title in enumerate(self.chunk.path) if title not in self.chunk.path[:i][-1:])
        uri = self.chunk.uri
        place = name_document(uri) if uri.startswith("file:") else uri
        return titles if titles.startswith(place) else f"{titles} ({place})"


@frozen
class CitedText:
    """Answer for a reader, whose citations were looked up.

    Attributes:
        text: the text, with numbers such as `[1]` for citations, and `[?]` for citations of unknown chunks.
        citations: the chunks that it cites, in the order of their first citations.
        unknown: the ids of chunks that do not exist, or that the reader may not see.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources, by their numbers."""
        return tuple({citation.number: citation.source for citation in self.citations}.values())

    def __str__(self) -> str:
        """Return the text, and its sources in a list."""
        listed = "\n".join(f"[{number}] {source}" for number, source in enumerate(self.sources, start=1))
        return f"{self.text}\n\n{listed}" if listed else self.text


def format_citation(id: str) -> str:
    """Return the mark that cites a chunk."""
    return f"[cite:{id}]"


def find_citations(text: str) -> tuple[str, ...]:
    """Return the ids of the chunks that a text cites, each once, in order."""
    return tuple(dict.fromkeys(cited for match in _MARK.finditer(text) for cited in _split_ids(match[1])))


def number_citations(text: str, chunks: Sequence[Chunk]) -> CitedText:
    """Return a text with numbers in the place of citations.

    Args:
        text: the text.
        chunks: the chunks that it may cite.
    """
    chunks_by_id = {chunk.id: chunk for chunk in chunks}
    cited = find_citations(text)
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    citations = {
        chunk.id: Citation(numbers.setdefault((chunk.uri, chunk.path), len(numbers) + 1), chunk)
        for chunk in (chunks_by_id[chunk_id] for chunk_id in cited if chunk_id in chunks_by_id)
    }
    numbered = _MARK.sub(lambda match: _format_numbers(_split_ids(match[1]), citations), text)
    return CitedText(
        numbered, tuple(citations.values()), tuple(chunk_id for chunk_id in cited if chunk_id not in chunks_by_id)
    )


def _split_ids(text: str) -> list[str]:
    """Return the ids in a mark; models repeat the word in it."""
    parts = (part.removeprefix("cite:") for part in _SEPARATOR.split(text))
    return [part for part in parts if part]


def _format_numbers(ids: Sequence[str], citations: Mapping[str, Citation]) -> str:
    marks = (f"[{citations[each].number}]" if each in citations else _UNKNOWN for each in ids)
    return "".join(dict.fromkeys(marks))
