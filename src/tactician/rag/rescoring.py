"""Scores of chunks for a query by the words in their texts.

The index of a database finds candidates and ranks them roughly. The best of them are scored here, for all databases in
the same way: by BM25, in which a word counts the more the rarer it is, each further occurrence counts less, and so do
occurrences in a long text. A word in the form of the query counts more than one with the same stem. Two words that are
neighbours in the query and in the text count more than each by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise
from math import log
from typing import Final, NamedTuple

from tactician.rag.segmentation import drop_accents, separate_signs
from tactician.rag.stemming import Stemmer
from tactician.rag.text_query import Clause, ClauseKind

_WORD: Final = re.compile(r"[^\W_]+")
_LETTER_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f\xa0\xa7\xab\xb6\xb7\xbb\u2010-\u205f\u2190-\u2bff]")
_IN_LOWER_CASE: Final = bytes(
    ord(chr(each).lower()) if each < 128 and chr(each).isalnum() else 32 for each in range(256)
)
"""Table that puts spaces in the place of all signs of ASCII that are no letters or digits."""
_SATURATION: Final = 1.2
_LENGTH_WEIGHT: Final = 0.75
_EXACT_WEIGHT: Final = 0.25
_COMMON_WEIGHT: Final = 0.5
_NEIGHBOUR_WEIGHT: Final = 0.4
_STABLE_LETTERS: Final = 2
"""Letters at the beginning of a word that a longer stem has too, and letters at its end that the word may lack."""
_STEMMER: Final = Stemmer()


class WeighedClause(NamedTuple):
    """Clause of a query, with its alternatives and its weight.

    Attributes:
        kind: the kind of match.
        alternatives: the words or phrases of which each counts: several for a word that may be mistyped.
        weight: the weight, which is the greater the rarer the clause is. `None` for a word that is in most texts: it
            decides between texts that are alike otherwise, and its weight depends on how many of them have it.
    """

    kind: ClauseKind
    alternatives: Sequence[Sequence[str]]
    weight: float | None = None

    @classmethod
    def of(cls, clause: Clause, similar: Mapping[str, Sequence[str]], weight: float) -> WeighedClause:
        """Return a clause with its weight.

        Args:
            clause: the clause.
            similar: the words of the library that are similar to fuzzy words.
            weight: the weight.
        """
        text = " ".join(clause.words)
        others = similar.get(text, ()) if clause.kind is ClauseKind.FUZZY else ()
        return cls(clause.kind, [split_words(each) for each in (text, *others)], weight)


def measure_rarity(count: int, total: int) -> float:
    """Return how much a word counts that is in so many of all texts: never less than nothing."""
    return log(1 + (max(total - count, 0) + 0.5) / (count + 0.5))


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case and without accents."""
    if _LETTER_BEYOND_ASCII.search(text):
        return _WORD.findall(drop_accents(separate_signs(text)).lower())
    return text.encode("ascii", "replace").translate(_IN_LOWER_CASE).decode("ascii").split()


def score_texts(texts: Sequence[str], clauses: Sequence[WeighedClause], order: Sequence[str] = ()) -> list[float]:
    """Return the scores of texts for the clauses of a query.

    Args:
        texts: the texts.
        clauses: the clauses.
        order: the words of the query in its order, of which neighbours count more in a text where they are neighbours.
    """
    pool = _Pool(texts, clauses)
    scores = [0.0] * len(texts)
    shares = [pool.score(clause) for clause in _merge(clauses, pool.stems)]
    for place, score in chain(*shares, pool.score_neighbours(split_words(" ".join(order)))):
        scores[place] += score
    return scores


def _merge(clauses: Sequence[WeighedClause], stems: Mapping[str, str]) -> list[WeighedClause]:
    """Return the clauses, with clauses of the same stems as one, so that a repeated word counts once."""
    merged: dict[object, WeighedClause] = {}
    for clause in clauses:
        key = (clause.kind, *(tuple(stems[word] for word in words) for words in clause.alternatives))
        forms = [*merged[key].alternatives] if key in merged else []
        new = [each for each in clause.alternatives if each not in forms]
        merged[key] = clause._replace(alternatives=[*forms, *new])
    return list(merged.values())


class _Pool:
    """Texts as words."""

    def __init__(self, texts: Sequence[str], clauses: Sequence[WeighedClause]) -> None:
        self._words = [split_words(text) for text in texts]
        average = sum(map(len, self._words)) / max(len(texts), 1) or 1
        self._norms = [
            _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * len(words) / average) for words in self._words
        ]
        asked = {word for clause in clauses for words in clause.alternatives for word in words}
        self.stems = _STEMMER.find_stems(asked)
        near = self._index_words({_find_beginning(stem) for stem in self.stems.values()})
        self.stems |= _STEMMER.find_stems(near)
        self._by_stem: dict[str, set[str]] = {}
        for form in near:
            self._by_stem.setdefault(self.stems[form], set()).add(form)

    def score(self, clause: WeighedClause) -> list[tuple[int, float]]:
        """Return the places of the texts with a clause, and its share of their scores."""
        forms = {tuple(frozenset(self._find_forms(word, clause.kind)) for word in each) for each in clause.alternatives}
        counts = self._count(forms)
        exact = self._count([frozenset({word}) for word in words] for words in clause.alternatives)
        weight = clause.weight
        if weight is None:
            weight = _COMMON_WEIGHT * measure_rarity(len(counts), len(self._words))
        scores = []
        for place, count in counts.items():
            same, norm = exact[place], self._norms[place]
            scores.append((place, weight * (count / (count + norm) + _EXACT_WEIGHT * same / (same + norm))))
        return scores

    def score_neighbours(self, order: Sequence[str]) -> Iterator[tuple[int, float]]:
        """Yield the places of the texts in which two neighbours of a query are neighbours too, with their scores.

        Two such words count the more the fewer of the texts have them side by side: all texts have the words.
        """
        stems = [self.stems.get(word, word) for word in order]
        pairs = {(first, second) for first, second in pairwise(stems) if first != second}
        marked = {form: stem for stem in {*chain(*pairs)} for form in self._by_stem.get(stem, ())}
        occurrences: dict[tuple[str, str], Counter[int]] = {}
        for place, words in enumerate(self._words):
            marks = [number for number, word in enumerate(words) if word in marked]
            for first, second in pairwise(marks):
                pair = (marked[words[first]], marked[words[second]])
                if second == first + 1 and pair in pairs:
                    occurrences.setdefault(pair, Counter())[place] += 1
        for counts in occurrences.values():
            weight = _NEIGHBOUR_WEIGHT * measure_rarity(len(counts), len(self._words))
            yield from ((place, weight * count / (count + self._norms[place])) for place, count in counts.items())

    def _index_words(self, starts: Set[str]) -> set[str]:
        """Note where the words are that begin like words of the query, and return them."""
        self._places: dict[str, dict[int, int]] = {}
        first, beginnings = {start[0] for start in starts if start}, tuple(starts)
        for place, words in enumerate(self._words):
            near = [word for word in words if word[0] in first and word.startswith(beginnings)]
            for word, count in Counter(near).items():
                self._places.setdefault(word, {})[place] = count
        return {*self._places}

    def _find_forms(self, word: str, kind: ClauseKind) -> set[str]:
        if kind is ClauseKind.PREFIX:
            return {form for form in self._places if form.startswith(word)}
        return self._by_stem.get(self.stems[word], set())

    def _count(self, phrases: Iterable[Sequence[Set[str]]]) -> Counter[int]:
        """Return how often any of some phrases is in the texts, by their places. Each word has several forms."""
        counts = Counter[int]()
        for phrase in phrases:
            if len(phrase) == 1:
                for form in phrase[0]:
                    counts.update(self._places.get(form, {}))
            elif phrase:
                counts.update(self._count_phrase(phrase))
        return counts

    def _count_phrase(self, phrase: Sequence[Set[str]]) -> dict[int, int]:
        places = set.intersection(
            *({place for form in forms for place in self._places.get(form, ())} for forms in phrase)
        )
        counts = {place: _count_sequences(self._words[place], phrase) for place in places}
        return {place: count for place, count in counts.items() if count}


def _find_beginning(stem: str) -> str:
    """Return the letters with which all words of a stem begin."""
    return stem[: max(len(stem) - _STABLE_LETTERS, min(len(stem) - 1, _STABLE_LETTERS), 1)]


def _count_sequences(words: Sequence[str], phrase: Sequence[Set[str]]) -> int:
    size = len(phrase)
    return sum(
        all(word in forms for word, forms in zip(words[start : start + size], phrase, strict=True))
        for start in range(len(words) - size + 1)
        if words[start] in phrase[0]
    )
