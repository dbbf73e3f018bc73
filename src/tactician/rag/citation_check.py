"""Guardrail on answers: their citations exist."""

from __future__ import annotations

from tactician.frozen import frozen
from tactician.guardrails import GuardrailResult, passed, retry
from tactician.rag.citations import find_citations
from tactician.rag.rag_tools import RagTools
from tactician.runs import RunContext

_MOST_NAMED = 5


@frozen
class CitationCheck:
    """Output guardrail that rejects an answer with a citation of a chunk that does not exist, or is out of scope.

    The model reads the reason and answers again. After the last attempt the run fails with an `OutputError`.

    Attributes:
        rag: the reference with the library.
        required: reject an answer without citations too.
    """

    rag: RagTools
    required: bool = False

    @property
    def name(self) -> str:
        """Name of the guardrail."""
        return f"citations of {self.rag.name}"

    async def check(self, output: str, context: RunContext) -> GuardrailResult:
        """Return whether the citations of an answer exist."""
        cited = find_citations(output)
        if not cited:
            return retry("Cite the chunks that support your answer by their marks.") if self.required else passed()
        chunk_ids = {chunk.id for chunk in await self.rag.find_cited_chunks(output, context)}
        if not (unknown := [chunk_id for chunk_id in cited if chunk_id not in chunk_ids]):
            return passed()
        named = ", ".join(unknown[:_MOST_NAMED])
        return retry(f"These citations are of no chunk: {named}. Cite only marks that a search has shown.")
