"""Words that a typing error makes of each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import nsmallest
from typing import Final

MAX_SIMILAR: Final = 50
"""Words of an index that a fuzzy word stands for."""


def find_similar_words(word: str, vocabulary: Iterable[str]) -> list[str]:
    """Return the words of a vocabulary that are at most one or, from six letters, two edits away; nearest first."""
    word = word.lower()
    most = 1 if len(word) < 6 else 2
    letters = set(word)
    near = []
    for other in vocabulary:
        if abs(len(other) - len(word)) <= most and _share(letters, other, most) and other != word:
            distance = measure_distance(word, other)
            if distance <= most:
                near.append((distance, other))
    return [other for _, other in nsmallest(MAX_SIMILAR, near)]


def measure_distance(left: str, right: str) -> int:
    """Return the number of edits between two words: of letters added, removed, replaced or swapped."""
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


def _share(letters: Collection[str], other: str, most: int) -> bool:
    """Return whether two words have so many letters in common that few edits may lie between them."""
    return sum(1 for letter in set(other) if letter not in letters) <= most
