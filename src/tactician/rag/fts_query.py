"""Queries for SQLite's full-text index FTS5, built from parsed queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from tactician.rag.text_query import Clause, ClauseKind, Occurrence, TextQuery

MAX_ROWS: Final = 2_500
"""Rows that the optional words of a query may bring, beside those of its rarest word.

Each row costs microseconds, and words that are in many texts say little: they are left out where there are rarer ones.
"""


class FtsIndex(Protocol):
    """Index whose words are looked up."""

    def find_similar(self, word: str) -> Sequence[str]:
        """Return the words of the index that are similar to a word."""
        ...

    def count_rows(self, expression: str, most: int) -> int:
        """Return the number of rows that an expression finds, at most `most`."""
        ...


def build_fts_query(query: TextQuery, index: FtsIndex) -> str:
    """Return the expression of FTS5 for a query. Words are quoted, so that none is an operator."""

    def format_clause(clause: Clause) -> str:
        text = " ".join(clause.words)
        if clause.kind is ClauseKind.FUZZY:
            return f"({' OR '.join(map(_quote, [text, *index.find_similar(text)]))})"
        return f"{_quote(text)}*" if clause.kind is ClauseKind.PREFIX else _quote(text)

    needed, optional, excluded = (list(map(format_clause, query.select(role))) for role in (
        Occurrence.MUST, Occurrence.SHOULD, Occurrence.MUST_NOT
    ))  # fmt: skip
    optional = _keep_rare(optional, index, 0 if needed else 1)
    # Optional words beside needed ones change the order of hits only.
    any_of = [f"({' OR '.join([*needed[:1], *optional])})"] if optional else []
    expression = " AND ".join([*needed, *any_of])
    return f"({expression}) NOT ({' OR '.join(excluded)})" if excluded else expression


def _keep_rare(expressions: list[str], index: FtsIndex, least: int) -> list[str]:
    """Return the expressions with the fewest rows, `least` of them at least."""
    counts = {expression: index.count_rows(expression, MAX_ROWS + 1) for expression in expressions}
    total = 0
    kept: set[str] = set()
    for expression in sorted((each for each in counts if counts[each]), key=lambda each: counts[each]):
        total += counts[expression]
        if total > MAX_ROWS and len(kept) >= least:
            break
        kept.add(expression)
    return [each for each in expressions if each in kept] or expressions[:least]


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
