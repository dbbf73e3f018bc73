"""Queries for an index of words, built from parsed queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from tactician.rag.rescoring import WeighedClause, measure_rarity, split_words
from tactician.rag.text_query import Clause, ClauseKind, Occurrence, TextQuery


class WordSyntax(NamedTuple):
    """Query language of an index of words.

    Attributes:
        quote: the sign before and after a word or phrase.
        prefix: the sign after the beginning of a word.
        any_of: the operator between expressions of which one must match.
        all_of: the operator between expressions that must match.
        without: the operator before an expression that must not match.
        normalize: function from a word to its form in the index.
    """

    quote: str
    prefix: str
    any_of: str
    all_of: str
    without: str
    normalize: Callable[[str], str] = str

    def format_clause(self, clause: Clause, similar: Mapping[str, Sequence[str]]) -> str:
        """Return the expression for a clause. Words are quoted, so that none is an operator."""
        text = " ".join(clause.words)
        if clause.kind is ClauseKind.FUZZY:
            return self.join(self.any_of, [self._quote(each) for each in (text, *similar.get(text, ()))])
        return self._quote(text) + (self.prefix if clause.kind is ClauseKind.PREFIX else "")

    def join(self, operator: str, expressions: Sequence[str]) -> str:
        """Return expressions with an operator between them."""
        return f"({operator.join(expressions)})"

    def _quote(self, text: str) -> str:
        return f"{self.quote}{self.normalize(text).replace('_', ' ').replace(self.quote, self.quote * 2)}{self.quote}"


class WordBounds(Protocol):
    """Bounds that keep the time of a search short.

    Attributes:
        max_candidates: chunks that the rarer words of a query bring, beside the chunks of the rarest word.
        max_counted: chunks with a word that are counted. Words that more chunks have do not count in the ranking of the
            index, which would look at all of these chunks.
    """

    max_candidates: int
    max_counted: int


class WordQuery(NamedTuple):
    """Query for an index of words.

    Attributes:
        expression: the expression in the language of the index, with the words that chunks are ranked by.
        candidates: the expression for the chunks that are ranked.
        counts: the numbers of chunks with each part that chunks are ranked by.
        total: the number of all chunks.
    """

    expression: str
    candidates: str
    counts: Mapping[str, int]
    total: int


class WordClauses(NamedTuple):
    """Clauses of a query as expressions, by their roles."""

    needed: Sequence[str]
    optional: Sequence[str]
    excluded: Sequence[str]

    @classmethod
    def of(cls, query: TextQuery, syntax: WordSyntax, similar: Mapping[str, Sequence[str]]) -> WordClauses:
        """Return the clauses of a query.

        Args:
            query: the query.
            syntax: the language of the index.
            similar: the words of the index that are similar to fuzzy words.
        """
        roles = (Occurrence.MUST, Occurrence.SHOULD, Occurrence.MUST_NOT)
        return cls(*([syntax.format_clause(each, similar) for each in query.select(role)] for role in roles))

    @property
    def ranked(self) -> set[str]:
        """The clauses that chunks are ranked by."""
        return {*self.needed, *self.optional}

    def combine(self, syntax: WordSyntax, counts: Mapping[str, int], total: int, bounds: WordBounds) -> WordQuery:
        """Return the query. Of many chunks, those with one of the rarer words are ranked by all words.

        Args:
            syntax: the language of the index.
            counts: the numbers of chunks with each clause.
            total: the number of all chunks.
            bounds: the bounds of the search.
        """
        unique = list(dict.fromkeys(self.optional))
        rare = [] if self.needed else _keep_rare(unique, counts, bounds.max_candidates)
        optional = [each for each in unique if each in rare or counts[each] <= bounds.max_counted]
        any_of = [syntax.join(syntax.any_of, [*self.needed[:1], *optional])] if optional else []
        bound = [] if len(rare) == len(unique) or not rare else [syntax.join(syntax.any_of, rare)]
        excluded = syntax.without + syntax.join(syntax.any_of, self.excluded) if self.excluded else ""
        # Optional words beside needed ones change the order of hits only.
        return WordQuery(
            syntax.join(syntax.all_of, [*self.needed, *bound, *any_of]) + excluded,
            syntax.join(syntax.all_of, self.needed or bound or any_of) + excluded,
            {each: counts[each] for each in (*self.needed, *unique)},
            total,
        )


def weigh_clauses(
    query: TextQuery, syntax: WordSyntax, similar: Mapping[str, Sequence[str]], words: WordQuery
) -> list[WeighedClause]:
    """Return the clauses that chunks are ranked by, with their weights."""
    weighed = [
        WeighedClause.of(each, similar, measure_rarity(words.counts[syntax.format_clause(each, similar)], words.total))
        for each in query.clauses
        if each.occurrence is not Occurrence.MUST_NOT
    ]
    return [*weighed, *(WeighedClause(ClauseKind.PHRASE, [split_words(each)]) for each in query.common)]


def _keep_rare(expressions: Sequence[str], counts: Mapping[str, int], most: int) -> Sequence[str]:
    """Return the expressions with the fewest rows, one of them at least."""
    total = 0
    kept: set[str] = set()
    for expression in sorted({each for each in expressions if counts[each]}, key=lambda each: counts[each]):
        total += counts[expression]
        if total > most and kept:
            break
        kept.add(expression)
    return [each for each in expressions if each in kept] or expressions[:1]
