"""Spelling suggestions for unknown names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_CUTOFF = 0.6
_LONGEST = 100


def find_closest(name: str, known: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the most similar known name, or `None` if no similarity reaches the cutoff.

    Args:
        name: the unknown name.
        known: the names to choose from.
        cutoff: the minimum similarity, from 0 to 1.
    """
    if len(name) > _LONGEST:
        return None
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def find_closest_spelling(name: str, known: Iterable[str], cutoff: float = _CUTOFF) -> str | None:
    """Return the closest name by letters and digits alone, in any case: `max_tokens` finds `maxTokens`."""
    spellings = {_normalize(candidate): candidate for candidate in known}
    closest = find_closest(_normalize(name), spellings, cutoff)
    return None if closest is None else spellings[closest]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to append to a message, with a leading space; empty if no known name is similar."""
    closest = find_closest(name, known)
    return "" if closest is None else f" Did you mean {closest!r}?"


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
