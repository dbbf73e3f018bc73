"""English grammar in messages: nouns that agree with their number, and the indefinite article."""

from __future__ import annotations

import re

_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_SPELLED_WITH_VOWEL = re.compile(r"[AEFHILMNORSX](?:$|[A-Z0-9](?![a-z]))")
"""The beginning of initials whose first letter is spoken with a vowel: an MCP server, an LLM."""
_SILENT_H = re.compile(r"hour|honest|honou?r|heir", re.IGNORECASE)
_LIKE_YOU = re.compile(r"u(?:ni(?![mn])|[bst][aeiou]|r[ail]|kr|uid)|eu|(?-i:[Oo]nc?e(?![a-z]))", re.IGNORECASE)
"""The beginning of words that are written with a vowel and spoken with a consonant: a user, a URL, a one-off."""


def format_count(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 hit", "2 hits", "1,000 retries".

    Args:
        number: how many there are; a float without a fraction is written as an integer
        noun: in the singular; words before the last may qualify it, as in "more byte"
        plural: of an irregular noun
    """
    figure = f"{int(number):,}" if float(number).is_integer() else f"{number:,g}"
    return f"{figure} {noun if number == 1 else plural or _pluralize(noun)}"


def add_article(noun: str) -> str:
    """Return a noun or the name of a type with its article, as it is spoken: "an int", "a UserInput", "an MCP tool"."""
    word = noun.lstrip("`'\"")
    return f"{'an' if _begins_with_vowel(word) else 'a'} {noun}"


def _pluralize(noun: str) -> str:
    if _CONSONANT_Y.search(noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if _SIBILANT.search(noun) else f"{noun}s"


def _begins_with_vowel(word: str) -> bool:
    if _SPELLED_WITH_VOWEL.match(word) or _SILENT_H.match(word):
        return True
    return word[:1].lower() in {*"aeiou"} and _LIKE_YOU.match(word) is None


def write_number(value: float, form: str = "g") -> str:
    """Return a number as people write it, without a power of ten: `0.0000754` instead of `7.54e-05`."""
    text = format(value, form)
    if "e" not in text:
        return text
    from decimal import Decimal

    return format(Decimal(text), "+f" if "+" in form else "f")
