"""Texts as indexes of words need them: scripts without spaces in single signs, and letters without accents.

A search for a word of such a script is a search for its signs side by side. What is longer than two signs is searched
for by its pairs, because nobody knows where its words end.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

_SIGNS: Final = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
)
_SIGN: Final = re.compile(f"[{_SIGNS}]")
_RUN: Final = re.compile(f"[{_SIGNS}]+|[^{_SIGNS}]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")


def has_signs(text: str) -> bool:
    """Return whether a text has signs of a script without spaces."""
    return _SIGN.search(text) is not None


def separate_signs(text: str) -> str:
    """Return a text with spaces around each sign of a script without spaces."""
    return _SIGN.sub(r" \g<0> ", text) if has_signs(text) else text


def split_scripts(word: str) -> list[str]:
    """Return the parts of a word: runs of signs of a script without spaces, and what is between them."""
    return _RUN.findall(word) if has_signs(word) else [word]


def list_pairs(run: str) -> list[str]:
    """Return the pairs of neighbours in a run of signs; a short run is its only pair."""
    return [run[place : place + 2] for place in range(max(1, len(run) - 1))]


def drop_accents(text: str) -> str:
    """Return a text without accents: `Brucke` for `Brücke`."""
    return text if text.isascii() else normalize("NFC", _ACCENTS.sub("", normalize("NFD", text)))
