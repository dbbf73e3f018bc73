"""Tactician: a library in an SQLite file, with the offline embedder. Arguments: the number of chunks."""

import asyncio
import sys
import tempfile

from benchmarks.clients.knowledge_texts import TOP_K, measure
from tactician.rag import Library, WordLlamaEmbedder, parse_markdown

PARTS = 50


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        library = Library(f"{folder}/library.db", embedder=WordLlamaEmbedder())

        async def ingest(texts: list[str]) -> None:
            for start in range(0, len(texts), PARTS):
                parts = enumerate(texts[start : start + PARTS])
                text = "\n\n".join(f"## Part {number}\n\n{text}" for number, text in parts)
                await library.add(parse_markdown(text, f"document-{start}.md"))
            await library.embedder.embed_chunks()

        async def search(question: str) -> list[str]:
            return [hit.text for hit in await library.search(question, top_k=TOP_K)]

        measure(int(sys.argv[1]), lambda texts: runner.run(ingest(texts)), lambda one: runner.run(search(one)))
        runner.run(library.aclose())


main()
