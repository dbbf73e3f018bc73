"""Libraries of documents: the recall of their searches, and ingestion and search of many chunks beside two others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from benchmarks.environments import Environment
from benchmarks.knowledge_corpus import Question, make_corpus
from benchmarks.measures import ChildError, json_from, progress
from benchmarks.report import Section, judge

if TYPE_CHECKING:
    from tactician.rag import SearchResults

CHUNKS = 100_000
QUICK_CHUNKS = 5_000
BUDGET_MS = 10.0
SECONDS = 1_800
CLIENTS = {
    "Tactician": ("knowledge", "knowledge_tactician"),
    "LlamaIndex": ("llama-index", "knowledge_llama_index"),
    "LangChain": ("langchain", "knowledge_langchain"),
}
STYLES = ("exact", "paraphrase", "mixed")


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    return [measure_recall(environments["knowledge"]), measure_scale(environments, QUICK_CHUNKS if quick else CHUNKS)]


def measure_recall(environment: Environment) -> Section:
    """Measure the share of questions whose answer is among five hits, in a child that has the extras."""
    section = Section("Recall@5 on 300 documents, 200 questions", ("search", "all", *STYLES), raw={})
    try:
        if environment.problem:
            raise ChildError(environment.problem)
        figures = json_from(environment.python, ["-m", "benchmarks.knowledge"], timeout=SECONDS)
    except ChildError as error:
        section.add_failure("Tactician", str(error))
        return section
    for name, shares in figures.items():
        section.add(name, *(f"{shares[style]:.3f}" for style in ("all", *STYLES)))
    section.raw = figures
    section.notes.append("The offline embedder (WordLlama, 256 numbers); hybrid adds up relative scores.")
    return section


def measure_scale(environments: Mapping[str, Environment], count: int) -> Section:
    columns = (
        "library",
        "ingest chunks/s",
        "first search s",
        "p50 ms",
        "p95 ms",
        "CPU p50 ms",
        "recall@5",
        "MB",
        "budget",
    )
    section = Section(f"Hybrid search in {count:,} chunks", columns, raw={})
    for name, (environment, program) in CLIENTS.items():
        progress(f"knowledge: {name}")
        try:
            if environments[environment].problem:
                raise ChildError(environments[environment].problem)
            arguments = ["-m", f"benchmarks.clients.{program}", str(count)]
            figures = json_from(environments[environment].python, arguments, timeout=SECONDS)
        except ChildError as error:
            section.add_failure(name, str(error))
            continue
        section.raw[name] = figures
        section.add(
            name,
            f"{figures['chunks'] / figures['ingest']:,.0f}",
            f"{figures['first']:.2f}",
            f"{figures['p50']:.1f}",
            f"{figures['p95']:.1f}",
            f"{figures['cpu']:.1f}",
            f"{figures['hits']:.3f}",
            f"{figures['peak']:,.0f}",
            judge(figures["p50"], BUDGET_MS, " ms") if name == "Tactician" else "",
        )
    section.notes.append(
        "The same texts, vectors and questions (four words of a text); 50 hits by words and 50 by vectors are fused by "
        "their ranks. Tactician keeps them in a file, the others in memory. MB: the peak of the process."
    )
    return section


async def list_recalls() -> dict[str, dict[str, float]]:
    """Return the recall of each search, of all questions and of those of each style."""
    from tactician.rag import Library, WordLlamaEmbedder, parse_markdown

    corpus = make_corpus()
    async with Library(embedder=WordLlamaEmbedder()) as library:
        words = Library(library.store)
        for document in corpus.documents:
            await library.add(parse_markdown(document.text, document.name))
        searches: dict[str, Callable[[str], Awaitable[SearchResults]]] = {
            "text": lambda query: words.search(query, top_k=5),
            "vector": lambda query: library.vector(query, top_k=5),
            "hybrid": lambda query: library.search(query, top_k=5),
        }
        return {name: await _share(corpus.questions, search) for name, search in searches.items()}


async def _share(questions: Sequence[Question], search: Callable[[str], Awaitable[SearchResults]]) -> dict[str, float]:
    found = {style: [0, 0] for style in ("all", *STYLES)}
    for question in questions:
        hits = await search(question.text)
        is_found = any(hit.uri == question.document and question.answer in hit.text for hit in hits)
        for style in ("all", question.style):
            found[style][0] += is_found
            found[style][1] += 1
    return {style: hits / count for style, (hits, count) in found.items()}


if __name__ == "__main__":
    import json

    print(json.dumps(asyncio.run(list_recalls())))
