"""Evaluators of searches in libraries of documents, and of citations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.evals.context import EvalContext, judge_problems, read_context
from tactician.evals.evaluators.plans import list_names
from tactician.rag import find_citations
from tactician.runs import RetrievalEnded


@dataclass(repr=False, init=False)
class Retrieved(Evaluator[Any, Any, Any]):
    """Scores of the searches of a run against the documents that it should find: their recall and their precision.

    A document is named by its address, by the end of its address, such as `"guide/rules.md"`, or by the id of a chunk.
    """

    documents: tuple[str, ...]

    def __init__(self, *documents: str | Sequence[str]) -> None:
        self.documents = list_names("Retrieved", documents)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Return the share of the documents that were found, and the share of what was found that is expected."""
        hits = list_hits(read_context(ctx))
        retrieved = [expected for expected in self.documents if any(is_document(hit, expected) for hit in hits)]
        useful = [hit for hit in hits if any(is_document(hit, expected) for expected in self.documents)]
        missing = ", ".join(expected for expected in self.documents if expected not in retrieved)
        recall = EvaluationReason(len(retrieved) / len(self.documents), f"not found: {missing}" if missing else None)
        return {
            "Retrieved recall": recall,
            "Retrieved precision": EvaluationReason(len(useful) / len(hits) if hits else 0.0),
        }


@dataclass(repr=False, init=False)
class Cites(Evaluator[Any, Any, Any]):
    """Assertion that the answer cites these documents; without documents, that it cites at least one.

    Whatever it cites must have been found by a search of the run: a citation of anything else is made up.
    """

    documents: tuple[str, ...] = ()

    def __init__(self, *documents: str | Sequence[str]) -> None:
        self.documents = list_names("Cites", documents) if documents else ()

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the citations are right."""
        cited = find_citations(str(ctx.output))
        return judge_problems(self._find_problems(cited, list_hits(read_context(ctx))))

    def _find_problems(self, cited: Iterable[str], hits: list[tuple[str, str]]) -> Iterator[str]:
        ids = {hit[0]: hit for hit in hits}
        known = [ids[each] for each in cited if each in ids]
        if not known:
            yield "the answer cites nothing that was found"
        for each in cited:
            if each not in ids:
                yield f"{each} was not found by any search"
        for expected in self.documents:
            if not any(is_document(hit, expected) for hit in known):
                yield f"{expected} is not cited"


def list_hits(context: EvalContext) -> list[tuple[str, str]]:
    """Return the id and the address of each chunk that searches of the run found, each once."""
    events = context.list_events(RetrievalEnded)
    return list(dict.fromkeys(hit for event in events for hit in event.found))


def is_document(hit: tuple[str, str], expected: str) -> bool:
    """Return whether a chunk is the expected document, or part of it."""
    return expected in hit or hit[1].endswith(f"/{expected.lstrip('/')}")
