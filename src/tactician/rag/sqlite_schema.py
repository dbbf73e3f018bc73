"""Tables of a library in an SQLite file."""

from __future__ import annotations

import sqlite3
from typing import Final

from tactician.errors import ConfigurationError

_VERSION: Final = 3
_APPLICATION: Final = 0x54616352  # "TacR"
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
    """
    CREATE VIRTUAL TABLE library_words USING fts5(
      text, content='library_chunks', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    "CREATE TABLE library_vocabulary (word TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID",
    """
    CREATE TRIGGER library_chunk_added AFTER INSERT ON library_chunks BEGIN
      INSERT INTO library_words (rowid, text) VALUES (new.id, new.text);
    END
    """,
    """
    CREATE TRIGGER library_chunk_removed AFTER DELETE ON library_chunks BEGIN
      INSERT INTO library_words (library_words, rowid, text) VALUES ('delete', old.id, old.text);
    END
    """,
)


def create_tables(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in a new file, or check that the file is a library.

    Raises:
        ConfigurationError: when the file is something else.
    """
    if _is_library(connection):
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _is_library(connection):  # another process has been faster
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
