"""Folder of text files as a library: searched as it is, without an index."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from math import log
from pathlib import Path
from typing import Final

from tactician.errors import ConfigurationError
from tactician.rag.chunking import DEFAULT_CHUNKING, Chunking, split_document
from tactician.rag.deadlines import run_cancellable
from tactician.rag.elements import Chunk
from tactician.rag.errors import UnreadableDocumentError
from tactician.rag.filters import Filter, Where
from tactician.rag.media_types import MediaKind, find_file_type
from tactician.rag.operations import TOP_K, ChunkHit, RegexSearch, SearchMethod, SearchResults, TextSearch, check_top_k
from tactician.rag.readers import read_text_document
from tactician.rag.regex_match import BoundedPattern
from tactician.rag.segmentation import drop_accents, separate_signs
from tactician.rag.similar_words import Vocabulary
from tactician.rag.sources import DocumentSource, find_sources, read_file
from tactician.rag.text_query import Clause, ClauseKind, Occurrence, TextQuery, parse_text_query
from tactician.suggestions import suggest_options

_MAX_BYTES: Final = 5_000_000
_AT_ONCE: Final = 500
_WORD: Final = re.compile(r"\w+")
_PLAIN: Final = (MediaKind.MARKDOWN, MediaKind.TEXT, MediaKind.RST, MediaKind.CODE)


@suggest_options
class FolderLibrary(TextSearch, RegexSearch):
    """Text files in a folder: Markdown, plain text and source code, as they are at the time of a search.

    Every search reads the files, which suits some hundred of them. A filter knows `name` and `ending` of a file.

    Args:
        folder: the folder.
        chunking: the sizes of chunks.

    Raises:
        ConfigurationError: when there is no such folder.
    """

    def __init__(self, folder: str | Path, *, chunking: Chunking = DEFAULT_CHUNKING) -> None:
        self.folder = Path(folder).expanduser()
        self.chunking = chunking
        if not self.folder.is_dir():
            raise ConfigurationError(f"{self.folder} is not a folder. Name word, or create it.")

    def __repr__(self) -> str:
        return f"FolderLibrary({str(self.folder)!r})"

    async def text(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        """Return the chunks with the words of a query; see `TextSearch`."""
        check_top_k(top_k)
        parsed = parse_text_query(query)
        chunks = await run_cancellable(lambda: list(self._read_chunks(Filter.of(where))))
        scores = await asyncio.to_thread(_score, parsed, chunks)
        best = max(scores, default=0.0) or 1.0
        matches = sorted(
            (ChunkHit(chunk, score / best, (SearchMethod.TEXT,)) for chunk, score in zip(chunks, scores, strict=True)),
            key=lambda hit: -hit.score,
        )
        hits = tuple(hit for hit in matches[:top_k] if hit.score > 0 and hit.score >= threshold)
        return SearchResults(hits, SearchMethod.TEXT)

    async def regex(self, pattern: str, *, top_k: int = TOP_K, where: Where = None) -> SearchResults:
        """Return the chunks in which a regular expression matches; see `RegexSearch`."""
        check_top_k(top_k)
        chunks, hits = self._read_chunks(Filter.of(where)), list[ChunkHit]()
        async with BoundedPattern(pattern) as bounded:
            while len(hits) < top_k and (batch := await run_cancellable(lambda: list(islice(chunks, _AT_ONCE)))):
                matches = await bounded.select([chunk.text for chunk in batch])
                hits += [ChunkHit(chunk, 1.0, (SearchMethod.REGEX,)) for chunk in compress(batch, matches)]
        return SearchResults(tuple(hits[:top_k]), SearchMethod.REGEX)

    def _read_chunks(self, where: Filter) -> Iterator[Chunk]:
        for source in find_sources(self.folder):
            if isinstance(source, DocumentSource) and source.path is not None:
                yield from self._read_file(source.uri, source.path, where)

    def _read_file(self, uri: str, path: Path, where: Filter) -> Sequence[Chunk]:
        media = find_file_type(path.name)
        metadata = {"name": path.name, "ending": path.suffix[1:].lower()}
        if media is None or media.kind not in _PLAIN or not where.accepts(metadata):
            return ()
        try:
            content = read_file(path, _MAX_BYTES)
            return split_document(read_text_document(content.body, media, uri, metadata), self.chunking)
        except UnreadableDocumentError:  # a search goes on without a file that cannot be read
            return ()


def _score(query: TextQuery, chunks: Sequence[Chunk]) -> list[float]:
    """Return the scores of chunks: the sum of the rarity of the clauses that they have, and 0 for what does not fit."""
    texts = [_WORD.findall(drop_accents(separate_signs(chunk.text.lower()))) for chunk in chunks]
    vocabulary = {word for words in texts for word in words}
    matches = {
        clause: [_count(clause, words, _list_forms(clause, vocabulary)) for words in texts] for clause in query.clauses
    }
    scores = []
    for number in range(len(chunks)):
        counts = {clause: matches[clause][number] for clause in query.clauses}
        fits = all(counts[clause] for clause in query.select(Occurrence.MUST)) and not any(
            counts[clause] for clause in query.select(Occurrence.MUST_NOT)
        )
        scores.append(sum(_weigh(matches[clause], count) for clause, count in counts.items()) if fits else 0.0)
    return scores


def _weigh(counts: Sequence[int], count: int) -> float:
    """Return the weight of a clause in a text: it grows with its rarity, and less and less with its count."""
    frequency = sum(1 for word in counts if word)
    return log(1 + len(counts) / max(1, frequency)) * count / (count + 1.2)


def _list_forms(clause: Clause, vocabulary: set[str]) -> frozenset[str]:
    """Return the words that a clause of a single word stands for."""
    word = drop_accents(clause.words[0].lower())
    match clause.kind:
        case ClauseKind.PREFIX:
            return frozenset(term for term in vocabulary if term.startswith(word))
        case ClauseKind.FUZZY:
            return frozenset((word, *Vocabulary(vocabulary).find_similar(word)))
        case _:
            return frozenset((word,))


def _count(clause: Clause, words: Sequence[str], forms: frozenset[str]) -> int:
    if len(clause.words) == 1:
        return sum(1 for word in words if word in forms)
    phrase = [drop_accents(word.lower()) for word in clause.words]
    return sum(1 for start in range(len(words)) if list(words[start : start + len(phrase)]) == phrase)
