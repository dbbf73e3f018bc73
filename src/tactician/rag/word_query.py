"""Queries for an index of words, built from parsed queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tactician.rag.text_query import Clause, ClauseKind, Occurrence, TextQuery

MAX_ROWS: Final = 2_500
"""Rows that the optional words of a query may bring, beside those of its rarest word.

Each row costs microseconds, and words that are in many texts say little: they are left out where there are rarer ones.
"""


class WordSyntax(NamedTuple):
    """Query language of an index of words.

    Attributes:
        quote: the sign before and after a word or phrase.
        prefix: the sign after the beginning of a word.
        any_of: the operator between expressions of which one must match.
        all_of: the operator between expressions that must match.
        without: the operator before an expression that must not match.
    """

    quote: str
    prefix: str
    any_of: str
    all_of: str
    without: str

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
        return f"{self.quote}{text.replace('_', ' ').replace(self.quote, self.quote * 2)}{self.quote}"


class WordQuery(NamedTuple):
    """Query for an index of words.

    Attributes:
        expression: the expression in the language of the index.
        counts: the numbers of chunks with each part that chunks are ranked by.
        total: the number of all chunks.
    """

    expression: str
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

    def combine(self, syntax: WordSyntax, counts: Mapping[str, int], total: int) -> WordQuery:
        """Return the query, without optional clauses that are in many chunks.

        Args:
            syntax: the language of the index.
            counts: the numbers of chunks with each clause.
            total: the number of all chunks.
        """
        optional = _keep_rare(self.optional, counts, 0 if self.needed else 1)
        # Optional words beside needed ones change the order of hits only.
        any_of = [syntax.join(syntax.any_of, [*self.needed[:1], *optional])] if optional else []
        expression = syntax.join(syntax.all_of, [*self.needed, *any_of])
        if self.excluded:
            expression += syntax.without + syntax.join(syntax.any_of, self.excluded)
        return WordQuery(expression, {each: counts[each] for each in (*self.needed, *optional)}, total)


def _keep_rare(expressions: Sequence[str], counts: Mapping[str, int], least: int) -> Sequence[str]:
    """Return the expressions with the fewest rows, `least` of them at least."""
    total = 0
    kept: set[str] = set()
    for expression in sorted({each for each in expressions if counts[each]}, key=lambda each: counts[each]):
        total += counts[expression]
        if total > MAX_ROWS and len(kept) >= least:
            break
        kept.add(expression)
    return [each for each in expressions if each in kept] or expressions[:least]
