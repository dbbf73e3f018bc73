"""Stems of words, as SQLite's index of words has them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from threading import Lock
from typing import Final

WORD_TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
"""Tokenizer of SQLite that divides texts into words and takes their stems."""
_MOST_STEMS: Final = 20_000
_TABLES: Final = f"""
CREATE VIRTUAL TABLE words USING fts5(word, content='', tokenize='{WORD_TOKENIZER}');
CREATE VIRTUAL TABLE stems USING fts5vocab(words, 'instance');
"""


class Stemmer:
    """Stems of words, for any number of threads. They are asked of SQLite once, and kept.

    SQLite has no function for a stem: the words are put into an index in memory, and read from there.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._stems: dict[str, str] = {}
        self._index: sqlite3.Connection | None = None

    def find_stems(self, words: Iterable[str]) -> dict[str, str]:
        """Return the stems of words by the words, which are in lower case and of letters and digits only."""
        chosen = set(words)
        with self._lock:
            if len(self._stems) > _MOST_STEMS:
                self._stems.clear()
            if new := [word for word in chosen if word not in self._stems]:
                self._stems.update(self._ask(new))
            return {word: self._stems[word] for word in chosen}

    def _ask(self, words: list[str]) -> dict[str, str]:
        if self._index is None:
            self._index = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self._index.executescript(_TABLES)
        self._index.execute("BEGIN")
        self._index.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(words))
        stems = self._index.execute("SELECT doc, term FROM stems WHERE offset = 0").fetchall()
        self._index.execute("INSERT INTO words (words) VALUES ('delete-all')")
        self._index.execute("COMMIT")
        # A word that has no letter by SQLite's idea of letters is its own stem.
        return {word: word for word in words} | {words[number]: stem for number, stem in stems}
