"""Results of searches as texts for models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tactician.rag.citations import format_citation
from tactician.rag.elements import Chunk, ContentElement
from tactician.rag.operations import ChunkHit

_NOTHING: Final = "Nothing was found. Try other words, fewer words, or a lower threshold."


def format_hits(hits: Sequence[ChunkHit], note: str, max_chars: int) -> str:
    """Return hits as text: each with its citation, the titles and the score."""
    parts = [f"{_format_heading(hit.chunk)} (score {hit.score:.2f})\n{hit.text}" for hit in hits]
    return _join(parts or [_NOTHING], note, max_chars)


def format_chunks(chunks: Sequence[Chunk], max_chars: int) -> str:
    """Return chunks as text, each with its citation and the titles."""
    return _join([f"{_format_heading(chunk)}\n{chunk.text}" for chunk in chunks], "", max_chars)


def format_element(element: ContentElement, text: str, max_chars: int) -> str:
    """Return a section or a document as text, with its id for a further look around it."""
    return _join([f"Section {element.id}: {' > '.join(element.path)}\n{text}"], "", max_chars)


def _format_heading(chunk: Chunk) -> str:
    return f"{format_citation(chunk.id)} {' > '.join(chunk.path)}"


def _join(parts: Sequence[str], note: str, max_chars: int) -> str:
    """Return as many parts as there is room for; the first may be cut."""
    shown, room = [parts[0][:max_chars]], max_chars - len(parts[0])
    for part in parts[1:]:
        room -= len(part)
        if room < 0:
            break
        shown.append(part)
    left = len(parts) - len(shown)
    cut = "[the text is cut here]" if len(parts[0]) > max_chars else f"[{left} more left out]" if left else ""
    return "\n\n".join(filter(None, (*shown, cut, note)))
