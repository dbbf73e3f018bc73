"""Chunks that were found before a model is called, as a part of its instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from tactician.prompts import PromptContributor
from tactician.rag.citations import format_citation
from tactician.rag.elements import Chunk


@dataclass(frozen=True)
class RetrievedChunks(PromptContributor):
    """Chunks for a model that is too small to search by itself: `await rag.retrieve(question)`.

    Attributes:
        chunks: the chunks, the best first.
        max_chars: characters of each that the model reads.
    """

    chunks: Sequence[Chunk]
    max_chars: int = 2_000

    @override
    def contribution(self) -> str:
        if not self.chunks:
            return "The library has no passage about it."
        shown = (
            f"Passage {number}, {' > '.join(chunk.path)}:\n{chunk.text[: self.max_chars]}"
            for number, chunk in enumerate(self.chunks, start=1)
        )
        return "\n\n".join(shown)

    def cite(self, *numbers: int) -> str:
        """Return the marks that cite passages by their numbers, without numbers of no passage."""
        valid_numbers = (number for number in dict.fromkeys(numbers) if 1 <= number <= len(self.chunks))
        return " ".join(format_citation(self.chunks[number - 1].id) for number in valid_numbers)
