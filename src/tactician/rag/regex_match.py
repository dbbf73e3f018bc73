"""Regular expressions of others: compiled and searched for within bounds of length and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final

from tactician.extras import require_extra
from tactician.rag.operations import SearchQueryError

if TYPE_CHECKING:
    from regex import Pattern

MAX_PATTERN: Final = 500
"""Characters of an expression."""
MAX_SECONDS: Final = 3.0
"""Seconds that a search by an expression may take."""


class BoundedPattern:
    """Regular expression with the time that it may take in all.

    Args:
        pattern: the expression, in Python's syntax.
        seconds: the seconds that all matches may take together.

    Raises:
        SearchQueryError: when the expression is too long or not valid.
        MissingExtraError: when the extra `rag` is not installed.
    """

    def __init__(self, pattern: str, seconds: float = MAX_SECONDS) -> None:
        self._source = pattern
        self._pattern = _compile(pattern)
        self._left = seconds

    def matches(self, text: str) -> bool:
        """Return whether the expression matches somewhere in a text.

        Raises:
            SearchQueryError: when the time is over.
        """
        began = monotonic()
        try:
            # The timeout holds for each text, and the matcher looks at it only now and then.
            known = self._pattern.search(text, timeout=max(0.001, self._left), concurrent=True) is not None
        except TimeoutError:
            self._left = 0.0
            known = False
        self._left -= monotonic() - began
        if self._left <= 0 and not known:
            raise SearchQueryError(
                f"The regular expression {self._source[:100]!r} takes too long. "
                "Repeat nothing that repeats itself, as (a+)+ does, or search for words first."
            )
        return known

    def select(self, texts: Iterable[str]) -> list[bool]:
        """Return for each text whether the expression matches."""
        return [self.matches(text) for text in texts]


def _compile(pattern: str) -> Pattern[str]:
    if not pattern or len(pattern) > MAX_PATTERN:
        raise SearchQueryError(f"A regular expression has 1 to {MAX_PATTERN} characters, not {len(pattern)}.")
    with require_extra("rag", "A search by regular expressions needs"):
        import regex
    compile_pattern: Callable[[str], Pattern[str]] = regex.compile
    try:
        return compile_pattern(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise SearchQueryError(f"The regular expression {pattern[:100]!r} is not valid: {error}") from None
