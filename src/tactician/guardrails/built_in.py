"""Built-in guardrails on the text of an input or an output.

They object with `guardrails.failed`, or with what `otherwise` returns: `max_length(500, otherwise=guardrails.retry)`
makes the model write a shorter answer. To set a name: `guardrails.input_guardrail("short")(max_length(500))`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from tactician.errors import ConfigurationError
from tactician.grammar import format_count
from tactician.guardrails.result import GuardrailResult, failed, passed

TextCheck: TypeAlias = Callable[[str], GuardrailResult]
Otherwise: TypeAlias = Callable[[str], GuardrailResult]


def max_length(limit: int, *, otherwise: Otherwise = failed) -> TextCheck:
    """Return a guardrail that passes text of at most so many characters."""

    def max_length(text: str) -> GuardrailResult:
        if len(text) <= limit:
            return passed()
        return otherwise(f"It has {format_count(len(text), 'character')}; {limit} are allowed.")

    return max_length


def blocked_words(words: Iterable[str], *, otherwise: Otherwise = failed) -> TextCheck:
    """Return a guardrail that passes text without these words, as whole words in any case.

    Raises:
        ConfigurationError: when there is no word, or an empty word.
    """
    blocked = [words] if isinstance(words, str) else sorted(words)
    if not all(blocked) or not blocked:
        raise ConfigurationError("blocked_words needs words that are not empty, as in blocked_words(['secret']).")
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, blocked))})(?!\w)", re.IGNORECASE)

    def blocked_words(text: str) -> GuardrailResult:
        match = pattern.search(text)
        return passed() if match is None else otherwise(f"It contains {match[0]!r}, which is not allowed.")

    return blocked_words


def matches(pattern: str | re.Pattern[str], reason: str = "", *, otherwise: Otherwise = failed) -> TextCheck:
    """Return a guardrail that passes text with a match of the regular expression; anchor it to match all text."""
    compiled = re.compile(pattern)

    def matches(text: str) -> GuardrailResult:
        if compiled.search(text):
            return passed()
        return otherwise(reason or f"It does not match {compiled.pattern!r}.")

    return matches


def no_match(pattern: str | re.Pattern[str], reason: str = "", *, otherwise: Otherwise = failed) -> TextCheck:
    """Return a guardrail that passes text without a match of the regular expression."""
    compiled = re.compile(pattern)

    def no_match(text: str) -> GuardrailResult:
        if compiled.search(text):
            return otherwise(reason or f"It matches {compiled.pattern!r}, which is not allowed.")
        return passed()

    return no_match
