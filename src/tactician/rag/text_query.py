"""Queries for words: `+return -"gift card" refund* shiping~`.

The operators come from Lucene, as in Embabel's guide. A query is parsed here, and a store builds its own
query from the result: what a user or a model writes never reaches a query language of a database.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from tactician.frozen import frozen
from tactician.rag.operations import SearchQueryError
from tactician.rag.segmentation import has_signs, list_pairs, separate_signs, split_scripts

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
        words: the words, of letters, digits and underscores only, and single signs of scripts without spaces. Several
            are a phrase.
        kind: the kind of match.
        occurrence: the role in the query.
    """

    words: tuple[str, ...]
    kind: ClauseKind = ClauseKind.PHRASE
    occurrence: Occurrence = Occurrence.SHOULD


@frozen
class TextQuery:
    """Clauses of a query, of which at least one is not excluded.

    Attributes:
        clauses: the clauses.
        common: words that are in most texts, which decide between the chunks that the clauses find.
        order: all words that may stand side by side in a text, in the order of the query.
    """

    clauses: tuple[Clause, ...]
    common: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def select(self, occurrence: Occurrence) -> tuple[Clause, ...]:
        """Return the clauses in a role."""
        return tuple(clause for clause in self.clauses if clause.occurrence is occurrence)


def parse_text_query(query: str) -> TextQuery:
    """Return the clauses of a query. Whatever is written can be parsed.

    Raises:
        SearchQueryError: when nothing is searched for: no word, or only excluded ones.
    """
    clauses = [clause for match in _CLAUSE.finditer(query) for clause in _create_clauses(match)]
    kept, common = _split_off_stop_words(clauses)
    if not any(clause.occurrence is not Occurrence.MUST_NOT for clause in kept):
        needs = "a word that is not excluded" if kept else "a word"
        raise SearchQueryError(f"The query {query[:100]!r} needs {needs}, such as: +return refund* -gift")
    return TextQuery(kept, common, _list_words(clauses))


def parse_question(question: str) -> TextQuery:
    """Return the words of a question in plain language, without operators.

    Raises:
        SearchQueryError: when there is no word in it.
    """
    clauses = [clause for part in question.split() for clause in _create_optional(part)]
    if not clauses:
        raise SearchQueryError(f"The question {question[:100]!r} has no word in it.")
    return TextQuery(*_split_off_stop_words(clauses), _list_words(clauses))


_ROLES: Final = {"": Occurrence.SHOULD, "+": Occurrence.MUST, "-": Occurrence.MUST_NOT}


def _create_clauses(match: re.Match[str]) -> list[Clause]:
    sign, phrase, word = match.groups()
    role = _ROLES[sign]
    if phrase is not None:
        return _create_phrase(phrase, role)
    kind = ClauseKind.PREFIX if word.endswith("*") else ClauseKind.FUZZY if _FUZZY.search(word) else ClauseKind.PHRASE
    words = _find_words(_FUZZY.sub("", word))
    if kind is ClauseKind.PHRASE and role is Occurrence.SHOULD:
        return _create_optional(word)
    # An operator holds for a single word: `e-mail*` is a phrase.
    is_phrase = len(words) > 1 and not (kind is ClauseKind.PREFIX and has_signs(word))
    return [Clause(words, ClauseKind.PHRASE if is_phrase else kind, role)] if words else []


def _create_optional(text: str) -> list[Clause]:
    """Return the clauses for a text without spaces: of scripts without spaces, one for each pair of signs."""
    if not has_signs(text):
        return _create_phrase(text)
    runs = [run for word in _WORD.findall(text) for run in split_scripts(word)]
    pairs = [pair for run in runs for pair in (list_pairs(run) if has_signs(run) else [run])]
    return [clause for pair in dict.fromkeys(pairs) for clause in _create_phrase(pair)]


def _create_phrase(text: str, role: Occurrence = Occurrence.SHOULD) -> list[Clause]:
    words = _find_words(text)
    return [Clause(words, ClauseKind.PHRASE, role)] if words else []


def _find_words(text: str) -> tuple[str, ...]:
    return tuple(word[:100] for word in _WORD.findall(separate_signs(text))[:20])


def _split_off_stop_words(clauses: list[Clause]) -> tuple[tuple[Clause, ...], tuple[str, ...]]:
    """Return the clauses without optional words that say nothing, and these words, unless there are no others."""
    kept = [clause for clause in clauses if not _says_nothing(clause)]
    if all(clause.occurrence is Occurrence.MUST_NOT for clause in kept):
        return tuple(clauses[:MAX_CLAUSES]), ()
    common = [clause.words[0] for clause in clauses if _says_nothing(clause)]
    return tuple(kept[:MAX_CLAUSES]), tuple(common[:MAX_CLAUSES])


def _list_words(clauses: list[Clause]) -> tuple[str, ...]:
    """Return the words of all clauses that are not excluded."""
    included = (clause for clause in clauses[:MAX_CLAUSES] if clause.occurrence is not Occurrence.MUST_NOT)
    return tuple(word for clause in included if clause.kind is ClauseKind.PHRASE for word in clause.words)


def _says_nothing(clause: Clause) -> bool:
    is_plain = clause.occurrence is Occurrence.SHOULD and clause.kind is ClauseKind.PHRASE
    return is_plain and len(clause.words) == 1 and _STOP_WORDS.fullmatch(clause.words[0]) is not None
