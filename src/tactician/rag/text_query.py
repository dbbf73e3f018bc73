"""Queries for words: `+return -"gift card" refund* shiping~`.

The operators are those of Lucene that Embabel's guide names. A query is parsed here, and a store builds its own
query from the result: what a user or a model writes never reaches a query language of a database.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from tactician.frozen import frozen
from tactician.rag.operations import SearchQueryError

MAX_CLAUSES: Final = 64
"""Clauses of a query that are searched for; further ones are left out."""
_CLAUSE: Final = re.compile(r'([+-]?)(?:"([^"]*)(?:"|$)|([^\s"]+))')
_FUZZY: Final = re.compile(r"~\d?$")
_WORD: Final = re.compile(r"\w+")
# Words that are in most English texts: they cost time and say nothing, unless they are all that is asked for.
_STOP_WORDS: Final = re.compile(
    "a an and any are as at be been but by can could did do does for from had has have how i if in into is it its may "
    "me my of on or our shall should so some than that the their them then there these they this to was we were what "
    "when where which while who whom whose why will with would you your".replace(" ", "|"),
    re.IGNORECASE,
)


class Occurrence(StrEnum):
    """Role of a clause in a query."""

    SHOULD = "should"
    MUST = "must"
    MUST_NOT = "must not"


class ClauseKind(StrEnum):
    """Kind of match of a clause."""

    PHRASE = "phrase"
    PREFIX = "prefix"
    FUZZY = "fuzzy"


@frozen
class Clause:
    """Part of a query.

    Attributes:
        words: the words, of letters, digits and underscores only. Several are a phrase.
        kind: the kind of match.
        occurrence: the role in the query.
    """

    words: tuple[str, ...]
    kind: ClauseKind = ClauseKind.PHRASE
    occurrence: Occurrence = Occurrence.SHOULD


@frozen
class TextQuery:
    """Clauses of a query, of which at least one is not excluded."""

    clauses: tuple[Clause, ...]

    def select(self, occurrence: Occurrence) -> tuple[Clause, ...]:
        """Return the clauses in a role."""
        return tuple(clause for clause in self.clauses if clause.occurrence is occurrence)


def parse_text_query(query: str) -> TextQuery:
    """Return the clauses of a query. Whatever is written can be parsed.

    Raises:
        SearchQueryError: when nothing is searched for: no word, or only excluded ones.
    """
    clauses = [clause for match in _CLAUSE.finditer(query) if (clause := _create_clause(match)) is not None]
    kept = _drop_stop_words(clauses)[:MAX_CLAUSES]
    if not any(clause.occurrence is not Occurrence.MUST_NOT for clause in kept):
        needs = "a word that is not excluded" if kept else "a word"
        raise SearchQueryError(f"The query {query[:100]!r} needs {needs}, such as: +return refund* -gift")
    return TextQuery(tuple(kept))


def parse_question(question: str) -> TextQuery:
    """Return the words of a question in plain language, without operators.

    Raises:
        SearchQueryError: when there is no word in it.
    """
    clauses = [clause for part in question.split() if (clause := _create_phrase(part)) is not None]
    if not clauses:
        raise SearchQueryError(f"The question {question[:100]!r} has no word in it.")
    return TextQuery(tuple(_drop_stop_words(clauses)[:MAX_CLAUSES]))


_ROLES: Final = {"": Occurrence.SHOULD, "+": Occurrence.MUST, "-": Occurrence.MUST_NOT}


def _create_clause(match: re.Match[str]) -> Clause | None:
    sign, phrase, word = match.groups()
    role = _ROLES[sign]
    if phrase is not None:
        return _create_phrase(phrase, role)
    kind = ClauseKind.PREFIX if word.endswith("*") else ClauseKind.FUZZY if _FUZZY.search(word) else ClauseKind.PHRASE
    words = _find_words(_FUZZY.sub("", word))
    # An operator holds for a single word: `e-mail*` is a phrase.
    return None if not words else Clause(words, kind if len(words) == 1 else ClauseKind.PHRASE, role)


def _create_phrase(text: str, role: Occurrence = Occurrence.SHOULD) -> Clause | None:
    words = _find_words(text)
    return Clause(words, ClauseKind.PHRASE, role) if words else None


def _find_words(text: str) -> tuple[str, ...]:
    return tuple(word[:100] for word in _WORD.findall(text)[:20])


def _drop_stop_words(clauses: list[Clause]) -> list[Clause]:
    """Return the clauses without optional words that say nothing, unless there are no others."""
    kept = [clause for clause in clauses if not _says_nothing(clause)]
    return kept if any(clause.occurrence is not Occurrence.MUST_NOT for clause in kept) else clauses


def _says_nothing(clause: Clause) -> bool:
    is_plain = clause.occurrence is Occurrence.SHOULD and clause.kind is ClauseKind.PHRASE
    return is_plain and len(clause.words) == 1 and _STOP_WORDS.fullmatch(clause.words[0]) is not None
