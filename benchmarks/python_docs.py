"""Recall of searches in the documentation of Python, with questions whose answers are known.

`python -m benchmarks.python_docs FOLDER WORK`: FOLDER has the HTML pages (Debian's package `python3.11-doc` installs
them), WORK gets the corpus and the library. Each answer of the FAQ is a page of its own without its question, which is
what is searched for; answers that are only a sentence, such as "See the next question.", are left out. The first
paragraphs of docstrings, without the names of function and module, are searched for in the pages that document the
functions; a paragraph that several functions share is left out. The rank of the first chunk of the right page counts.
What is tuned is tuned on one half of the questions, and shown for the other half too. With `bm25s` and `PyStemmer`
installed, their BM25 in memory ranks the same chunks.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pydoc import ErrorDuringImport, locate
from random import Random
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tactician.rag import SearchResults

SEED = 11
DOCSTRINGS = 300
MOST_OF_PAGE = 3
SHORTEST_ANSWER = 200
SHORTEST_DOCSTRING = 40
TOP_K = 10
SPLIT_SEED = 7
FUNCTION = re.compile(r'<dl class="py function">\s*<dt class="sig[^"]*" id="([\w.]+)">')
LEFT_OUT = re.compile(r"genindex|py-modindex|index\.html|contents|search\.html|^faq/|^_")


@dataclass(frozen=True)
class Pair:
    """A question, and the page with its answer."""

    question: str
    page: str
    kind: str


def make_corpus(folder: Path, corpus: Path) -> list[Pair]:
    """Write the pages to a folder, and return the questions."""
    pairs = list(_write_answers(folder / "faq", corpus / "answers"))
    pages = [page for page in sorted(folder.rglob("*.html")) if not LEFT_OUT.search(str(page.relative_to(folder)))]
    for page in pages:
        target = corpus / page.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(page.read_bytes())
    return [*pairs, *_draw_docstrings(folder)]


def _write_answers(faq: Path, target: Path) -> Iterator[Pair]:
    from lxml import html

    target.mkdir(parents=True, exist_ok=True)
    for page in sorted(faq.glob("*.html")):
        for section in html.fromstring(page.read_bytes()).iter("section"):
            (head,) = section.xpath("./*[self::h1 or self::h2 or self::h3]")
            question = head.text_content().removesuffix("¶").strip()
            section.remove(head)
            if section.xpath("./section") or len(section.text_content()) < SHORTEST_ANSWER:
                continue
            name = f"{page.stem}-{section.get('id')}.html"
            body = html.tostring(section, encoding="unicode")
            (target / name).write_text(f"<html><head><title>Answer</title></head><body>{body}</body></html>")
            if "?" in question:
                yield Pair(question, f"answers/{name}", "faq")


def _draw_docstrings(folder: Path) -> list[Pair]:
    candidates: dict[str, list[Pair]] = {}
    for page in sorted((folder / "library").glob("*.html")):
        for name in FUNCTION.findall(page.read_text()):
            text = _find_paragraph(name)
            if len(text) >= SHORTEST_DOCSTRING:
                candidates.setdefault(text, []).append(Pair(text, f"library/{page.name}", "docstring"))
    by_page: dict[str, list[Pair]] = {}
    for pair, *others in candidates.values():
        if not others:
            by_page.setdefault(pair.page, []).append(pair)
    random = Random(SEED)
    drawn = [pair for pairs in by_page.values() for pair in random.sample(pairs, min(MOST_OF_PAGE, len(pairs)))]
    return random.sample(drawn, min(DOCSTRINGS, len(drawn)))


def _find_paragraph(name: str) -> str:
    """Return the first paragraph of a docstring without the names of function and module; empty when there is none."""
    try:
        item = locate(name)
    except ErrorDuringImport:  # a module of another system
        return ""
    if not callable(item) or isinstance(item, type):
        return ""
    paragraph = (inspect.getdoc(item) or "").partition("\n\n")[0]
    module, _, function = name.rpartition(".")
    for each in filter(None, (name, module, function)):
        paragraph = re.sub(rf"(?<![\w.]){re.escape(each)}(?!\w)", " ", paragraph, flags=re.IGNORECASE)
    return " ".join(paragraph.split())


def split_pairs(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Return the questions by groups: all, both kinds, and two halves, of which one is for tuning."""
    shuffled = [*pairs]
    Random(SPLIT_SEED).shuffle(shuffled)
    half = len(pairs) // 2
    kinds = {kind: [pair for pair in pairs if pair.kind == kind] for kind in ("faq", "docstring")}
    return {"all": [*pairs], **kinds, "tuning": shuffled[:half], "held out": shuffled[half:]}


async def _measure(pairs: Sequence[Pair], search: Callable[[str], Awaitable[SearchResults]]) -> dict[str, float]:
    ranks, times = [], []
    for pair in pairs:
        began = perf_counter()
        hits = await search(pair.question)
        times.append((perf_counter() - began) * 1000)
        ranks.append(_find_rank(pair, [hit.uri for hit in hits]))
    return _summarize(ranks) | {"p50 ms": median(times), "p95 ms": sorted(times)[int(len(times) * 0.95)]}


def _find_rank(pair: Pair, addresses: Sequence[str]) -> int:
    """Return the rank of the right page; 0 when it is not among them."""
    return next((rank for rank, uri in enumerate(addresses, 1) if uri.endswith(f"/corpus/{pair.page}")), 0)


def _summarize(ranks: Sequence[int]) -> dict[str, float]:
    shares = {f"r@{most}": sum(0 < rank <= most for rank in ranks) / len(ranks) for most in (1, 5, TOP_K)}
    return shares | {"MRR": sum(1 / rank for rank in ranks if rank) / len(ranks)}


def _print(name: str, group: str, figures: dict[str, float]) -> None:
    print(f"{name:8}{group:10}", json.dumps({key: round(value, 3) for key, value in figures.items()}), flush=True)


def measure_bm25s(groups: dict[str, list[Pair]], library: Path) -> None:
    """Print the recall of `bm25s` with the chunks of a library, with its tokenizer as it comes and with stems."""
    import bm25s  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import Stemmer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with closing(sqlite3.connect(library)) as connection:
        rows = connection.execute(
            "SELECT c.text, d.uri FROM library_chunks c JOIN library_documents d ON d.id = c.document"
        ).fetchall()
    for name, options in {
        "bm25s": {"stopwords": None},
        "+ stems": {"stopwords": "en", "stemmer": Stemmer.Stemmer("english")},
    }.items():
        index = bm25s.BM25()
        index.index(bm25s.tokenize([text for text, _ in rows], show_progress=False, **options), show_progress=False)
        for group, pairs in groups.items():
            questions = bm25s.tokenize([pair.question for pair in pairs], show_progress=False, **options)
            numbers, _ = index.retrieve(questions, k=TOP_K, show_progress=False)
            hits = [[rows[number][1] for number in chosen] for chosen in numbers]
            ranks = [_find_rank(pair, addresses) for pair, addresses in zip(pairs, hits, strict=True)]
            _print(name, group, _summarize(ranks))


async def measure(folder: Path, work: Path) -> None:
    """Print the recall of each search."""
    from tactician.rag import Library, WordLlamaEmbedder

    pairs = make_corpus(folder, work / "corpus")
    groups = split_pairs(pairs)
    async with Library(work / "library.db", embedder=WordLlamaEmbedder()) as library:
        began = perf_counter()
        report = await library.ingest(work / "corpus")
        statistics = await library.measure()
        print(f"{len(pairs)} questions, {statistics.documents} documents, {statistics.chunks:,} chunks, ", end="")
        print(f"{perf_counter() - began:.1f} s, {len(report.failures)} failures")
        searches: dict[str, Callable[[str], Awaitable[SearchResults]]] = {
            "text": lambda query: Library(library.store).search(query),
            "vector": library.vector,
            "hybrid": library.search,
        }
        for name, search in searches.items():
            await search("the first search reads the index")
            for group, chosen in groups.items():
                _print(name, group, await _measure(chosen, search))
    if find_spec("bm25s") and find_spec("Stemmer"):
        measure_bm25s(groups, work / "library.db")


if __name__ == "__main__":
    asyncio.run(measure(Path(sys.argv[1]), Path(sys.argv[2])))
