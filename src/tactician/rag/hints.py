"""Hints for models that search."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.prompts import PromptContributor
from tactician.suggestions import suggest_options


@suggest_options
@dataclass(frozen=True)
class HypotheticalDocument(PromptContributor):
    """Hint to search for a text that might answer the question, instead of the question itself.

    The method is HyDE, by Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels" (2022).

    Args:
        max_words: length of the text.
    """

    max_words: int = 80

    def contribution(self) -> str:
        """Return the hint."""
        return (
            "When you search by meaning, the query need not be the question: write the passage that you would expect "
            f"in the documents, in at most {self.max_words} words, and search for it. What you made up is for the "
            "search only, and not for your answer."
        )
