"""Which name was meant, where somebody wrote one that stands for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = 0.6


def closest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """The name that is most like it; `None` when none is at least so much alike, from 0 to 1."""
    return next(iter(get_close_matches(name, known, n=1, cutoff=alike)), None)


def closest_spelling(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """The same where only letters and digits count, not their case: `max_tokens` is spelled `maxTokens`."""
    plain = {_plain(one): one for one in known}
    found = closest(_plain(name), plain, alike)
    return None if found is None else plain[found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The question to ask after a message, with a blank before it; nothing, when no name is like it."""
    found = closest(name, known)
    return "" if found is None else f" Did you mean {found!r}?"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
