"""Tables of a library in an SQLite file."""

from __future__ import annotations

import sqlite3
from typing import Final

from tactician.errors import ConfigurationError
from tactician.rag.segmentation import separate_signs
from tactician.rag.stemming import WORD_TOKENIZER

_VERSION: Final = 4
_WITH_RUNS_AS_WORDS: Final = 3
"""Version whose index has runs of signs without spaces, as in Chinese, as single words."""
_APPLICATION: Final = 0x54616352  # "TacR"
_TRIGGERS: Final = (
    """
    CREATE TRIGGER library_chunk_added AFTER INSERT ON library_chunks BEGIN
      INSERT INTO library_words (rowid, text) VALUES (new.id, separate_signs(new.text));
    END
    """,
    """
    CREATE TRIGGER library_chunk_removed AFTER DELETE ON library_chunks BEGIN
      INSERT INTO library_words (library_words, rowid, text) VALUES ('delete', old.id, separate_signs(old.text));
    END
    """,
)
_TABLES: Final = (
    "CREATE TABLE library_state (version INTEGER NOT NULL)",
    "INSERT INTO library_state VALUES (0)",
    """
    CREATE TABLE library_documents (
      id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
      fingerprint TEXT NOT NULL, chunks INTEGER NOT NULL, ingested_at REAL NOT NULL, metadata TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE library_sections (
      key TEXT PRIMARY KEY, document INTEGER NOT NULL REFERENCES library_documents ON DELETE CASCADE,
      position INTEGER NOT NULL, parent TEXT NOT NULL, path TEXT NOT NULL, text TEXT
    ) WITHOUT ROWID
    """,
    "CREATE INDEX library_sections_of_documents ON library_sections (document, position)",
    """
    CREATE TABLE library_chunks (
      id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES library_documents ON DELETE CASCADE,
      position INTEGER NOT NULL, section TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL, digest BLOB NOT NULL,
      UNIQUE (document, position)
    )
    """,
    "CREATE INDEX library_chunks_by_digest ON library_chunks (digest, document)",
    """
    CREATE TABLE library_vectors (
      model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (digest, model)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE library_models (model TEXT PRIMARY KEY, complete INTEGER NOT NULL)",
    f"""
    CREATE VIRTUAL TABLE library_words USING fts5(
      text, content='library_chunks', content_rowid='id', tokenize='{WORD_TOKENIZER}'
    )
    """,
    "CREATE TABLE library_vocabulary (word TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID",
    *_TRIGGERS,
)
_INDEX_ANEW: Final = (
    "DROP TRIGGER library_chunk_added",
    "DROP TRIGGER library_chunk_removed",
    "INSERT INTO library_words (library_words, rowid, text) "
    "SELECT 'delete', id, text FROM library_chunks WHERE separate_signs(text) <> text",
    "INSERT INTO library_words (rowid, text) "
    "SELECT id, separate_signs(text) FROM library_chunks WHERE separate_signs(text) <> text",
    *_TRIGGERS,
    f"PRAGMA user_version = {_VERSION}",
)
"""Statements that bring a library of the earlier version to this one."""


def create_tables(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in a new file, or bring the tables of an earlier version to this one.

    Raises:
        ConfigurationError: when the file is something else.
    """
    connection.create_function("separate_signs", 1, separate_signs, deterministic=True)
    if _is_library(connection):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _is_library(connection):  # another process has been faster
            return
        if _read_marks(connection) == (_APPLICATION, _WITH_RUNS_AS_WORDS):
            for statement in _INDEX_ANEW:
                connection.execute(statement)
            return
        if not _is_empty(connection):
            raise ConfigurationError(f"{path}: this database is not a library of this version. Name another file.")
        for statement in (*_TABLES, f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}"):
            connection.execute(statement)


def _is_library(connection: sqlite3.Connection) -> bool:
    return _read_marks(connection) == (_APPLICATION, _VERSION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return _read_marks(connection) == (0, 0) and tables == (0,)


def _read_marks(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    return application, version
