"""Words that a typing error makes of each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from tactician.rag.segmentation import drop_accents, separate_signs

MAX_SIMILAR: Final = 50
"""Words of a library that a fuzzy word stands for."""
_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_WORD: Final = 40


class Vocabulary:
    """Words of a library. Those that are like a word are found without a look at most of the others.

    Args:
        words: the words.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words: set[str] = set()
        self._by_length: dict[int, list[tuple[int, str]]] = {}
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words, of which some may be there."""
        for word in words:
            if word not in self._words:
                self._words.add(word)
                self._by_length.setdefault(len(word), []).append((_mask_letters(word), word))

    def find_similar(self, word: str) -> list[str]:
        """Return the words that are at most one or, from six letters, two edits away; the nearest first."""
        word = drop_accents(word.lower())
        most = 1 if len(word) < 6 else 2
        letters, near = _mask_letters(word), []
        for length in range(len(word) - most, len(word) + most + 1):
            for mask, other in self._by_length.get(length, ()):
                # An edit removes at most one letter and adds at most one.
                if (letters & ~mask).bit_count() <= most and (mask & ~letters).bit_count() <= most and other != word:
                    distance = measure_distance(word, other)
                    if distance <= most:
                        near.append((distance, other))
        return [other for _, other in nsmallest(MAX_SIMILAR, near)]


def list_words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts that a fuzzy word may stand for."""
    joined = drop_accents(separate_signs("\n".join(texts)))
    return {word for word in set(_WORD.findall(joined.lower())) if len(word) <= _LONGEST_WORD}


def measure_distance(left: str, right: str) -> int:
    """Return the number of edits between two words: of letters added, removed, replaced or swapped."""
    left, right = _drop_common_ends(left, right)
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _drop_common_ends(left: str, right: str) -> tuple[str, str]:
    """Return two words without the letters that they begin and end with alike, which make no difference."""
    shorter = min(len(left), len(right))
    start = 0
    while start < shorter and left[start] == right[start]:
        start += 1
    end = 0
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[start : len(left) - end], right[start : len(right) - end]


def _mask_letters(word: str) -> int:
    """Return a set of the letters of a word, as bits. Two letters may have the same bit."""
    mask = 0
    for letter in word:
        mask |= 1 << (ord(letter) & 63)
    return mask
