"""Sentences of documents that may answer a question, for a model that is too small to write an answer of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tactician.llm import EmbeddingModel
from tactician.rag import Chunk

_FENCE = re.compile(r"^ *```(\S*)[^\n]*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_BLOCKS = re.compile(r"\n\s*\n|\n(?=[-|] )")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"])")
_WORDS = re.compile(r"[a-z]{3,}")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
_DEFINITION = re.compile(r"what (?:is|are) (?:an? |the )?([\w -]+?)s?(?: of .+)?\?*$", re.IGNORECASE)
_AMOUNT = re.compile(r"how (?:large|long|many|much|often|far|big)\b")
_COMMON = frozenset(
    {"how", "what", "which", "who", "where", "why", "when", "does", "the", "are", "can", "may", "and", "for", "with"}
    | {"that", "this", "you", "has", "have"}
)
_SHORTEST, _LONGEST = 25, 400
_BONUS = 0.4
_LEAST_SCORE = 0.4
_LATER = 0.02
"""Part of the score that a sentence loses for each better chunk."""


@dataclass(frozen=True)
class Quote:
    """Sentence of a chunk, with the score of how well it may answer the question."""

    text: str
    chunk: Chunk
    score: float


async def find_quotes(question: str, chunks: Sequence[Chunk], embedder: EmbeddingModel) -> list[Quote]:
    """Return the sentences of chunks that may answer a question, the best first.

    A sentence is good when its meaning is near that of the question, and when it has its words. An amount is asked for
    by words that the answer does not have: there, a number counts too. "What is a skill?" is answered by "A skill is".
    """
    known = [(place, text) for place, chunk in enumerate(chunks) for text in _split_prose(chunk.text)]
    asked, *others = (await embedder.embed([question, *(text for _, text in known)])).vectors
    wanted, clue = _find_words(question), _find_clue(question)
    quotes: list[Quote] = []
    for (place, text), vector in zip(known, others, strict=True):
        nearness = sum(left * right for left, right in zip(asked, vector, strict=True))
        shared = len(wanted & _find_words(text)) / max(1, len(wanted))
        bonus = _BONUS if clue is not None and clue.search(text) else 0.0
        quotes.append(Quote(text, chunks[place], nearness + shared / 2 + bonus - place * _LATER))
    return sorted((quote for quote in quotes if quote.score >= _LEAST_SCORE), key=lambda quote: -quote.score)


def _find_clue(question: str) -> re.Pattern[str] | None:
    """Return an expression for what the answer to a question has beside its words."""
    if _AMOUNT.match(question.lower()):
        return re.compile(r"(?<![\w/.-])\d")
    if (asked := _DEFINITION.match(question.strip())) is not None:
        return re.compile(rf"^(?:an? |the )?[*`]*{re.escape(asked[1])}s?[*`]* (?:is|are) ", re.IGNORECASE)
    return None


def _drop_code(text: str) -> str:
    """Return a text without its blocks of code. A chunk may begin in such a block, or end in it."""
    first, *others = _FENCE.split(text)
    # An odd fence without a language is the end of a block that is torn apart.
    begins_in_code = len(others) % 4 == 2 and not others[0]
    return "\n".join(([] if begins_in_code else [first]) + others[1 if begins_in_code else 3 :: 4])


def _split_prose(text: str) -> Iterator[str]:
    """Yield the sentences of a text in Markdown, without code, tables, headings and links to the next page."""
    for block in _BLOCKS.split(_LINK.sub(r"\1", _drop_code(text))):
        if block.lstrip().startswith(("|", "#", ":", ">", "**Next:**")):
            continue
        for sentence in _ENDS.split(" ".join(_ITEM.sub("", block).split())):
            if _SHORTEST < len(sentence) < _LONGEST and sentence.endswith((".", "!")):
                yield sentence


def _find_words(text: str) -> set[str]:
    words = (word for word in _WORDS.findall(text.lower()) if word not in _COMMON)
    return {re.sub(r"(ing|ed|es|s)$", "", word) for word in words}
