"""Tactician: a library in an SQLite file, with the offline embedder. Arguments: the number of chunks, and a folder.

The library stays in the folder, and another run with the same folder only searches it: `python -m
benchmarks.clients.knowledge_tactician 100000 FOLDER`. Without a folder, it is made and removed. A URL of PostgreSQL
in place of the folder is a library there.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.clients.knowledge_texts import TOP_K, measure
from tactician.rag import Library, WordLlamaEmbedder, parse_markdown

PARTS = 50


def measure_library(count: int, place: str) -> None:
    location = place if "://" in place else f"{place}/library-{count}.db"
    with asyncio.Runner() as runner:
        embedder = WordLlamaEmbedder()
        runner.run(embedder.embed(["The weights are loaded before anything is measured, as those of the others are."]))
        library = Library(location, embedder=embedder)

        async def ingest(texts: list[str]) -> bool:
            if (await library.measure()).chunks == len(texts):
                return False
            for start in range(0, len(texts), PARTS):
                parts = enumerate(texts[start : start + PARTS])
                text = "\n\n".join(f"## Part {number}\n\n{text}" for number, text in parts)
                await library.add(parse_markdown(text, f"document-{start}.md"))
            await library.embedder.embed_chunks()
            return True

        async def search(question: str) -> list[str]:
            return [hit.text for hit in await library.search(question, top_k=TOP_K)]

        measure(count, lambda texts: runner.run(ingest(texts)), lambda one: runner.run(search(one)))
        runner.run(library.aclose())


def main() -> None:
    count, *places = sys.argv[1:]
    if places:
        if "://" not in places[0]:
            Path(places[0]).mkdir(parents=True, exist_ok=True)
        measure_library(int(count), places[0])
        return
    with tempfile.TemporaryDirectory() as folder:
        measure_library(int(count), folder)


main()
