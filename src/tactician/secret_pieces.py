"""Masks of secrets in a text that comes in pieces: a key may be split over two of them."""

from __future__ import annotations

import re
from typing import Final

from tactician.secrets import MASK, Masking

_MOST_HELD: Final = 400
"""Characters that wait for the rest of a word: keys are shorter, and none has a space or other letters than ASCII."""
_VISIBLE: Final = "".join(map(chr, range(0x21, 0x7F)))
_NAMES: Final = re.compile(r"key|token|secret|passw|passp|pwd|auth|cred|cookie|dsn|bearer|basic", re.IGNORECASE)
_BETWEEN: Final = " \t\n=:\"'"
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_BEGINNING: Final = re.compile(r"-----BEGIN [A-Z -]{0,60}\Z")
_END: Final = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")
_LONGEST_END: Final = 80


class PieceMasking:
    """Masks for one text that comes in pieces: the last word of a piece waits for its end.

    A private key is masked once it begins, and what follows is left out until its end, so that time and memory stay
    linear for one that never ends.

    Args:
        masking: the masks.
    """

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._held = ""
        self._is_in_key = False

    def add(self, piece: str) -> str:
        """Return what can be said of the text so far, and was not said before."""
        return "".join(self._read(piece))

    def finish(self) -> str:
        """Return the rest, as the text has ended."""
        rest, self._held = self._held, ""
        return "" if self._is_in_key else self._masking.mask(rest)

    def _read(self, piece: str) -> list[str]:
        """Return the parts of the text up to its last word, outside of private keys."""
        text, masked = self._held + piece, list[str]()
        while True:
            mark = (_END if self._is_in_key else _BEGIN).search(text)
            if mark is None:
                break
            if not self._is_in_key:
                masked += (self._masking.mask(text[: mark.start()]), MASK)
            self._is_in_key = not self._is_in_key
            text = text[mark.end() :]
        end = max(0, len(text) - _LONGEST_END) if self._is_in_key else _find_unfinished(text)
        self._held = text[end:]
        return masked if self._is_in_key else [*masked, self._masking.mask(text[:end])]


def _find_unfinished(text: str) -> int:
    """Return where the last word of a text begins, or the name of a secret before it, or a private key."""
    tail = text[-_MOST_HELD:]
    if (beginning := _BEGINNING.search(tail)) is not None:
        return len(text) - len(tail) + beginning.start()
    before = tail.rstrip(_VISIBLE)
    name = before.rstrip(_BETWEEN)
    start = len(name.rstrip(_VISIBLE))
    begin = start if _NAMES.search(name, start) else len(before)
    return 0 if len(text) <= _MOST_HELD and not begin else len(text) if not begin else len(text) - len(tail) + begin
