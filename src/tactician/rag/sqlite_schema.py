"""Tables of a library in an SQLite file."""

from __future__ import annotations

import sqlite3
from typing import Final

from tactician.errors import ConfigurationError

_VERSION: Final = 1
_APPLICATION: Final = 0x54616352  # "TacR"
_TABLES: Final = """
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
  fingerprint TEXT NOT NULL, chunks INTEGER NOT NULL, ingested_at REAL NOT NULL, metadata TEXT NOT NULL
);
CREATE TABLE sections (
  key TEXT PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  position INTEGER NOT NULL, parent TEXT NOT NULL, path TEXT NOT NULL, text TEXT
) WITHOUT ROWID;
CREATE INDEX sections_of_documents ON sections (document, position);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  position INTEGER NOT NULL, section TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL, digest BLOB NOT NULL,
  UNIQUE (document, position)
);
CREATE INDEX chunks_by_digest ON chunks (digest, document);
CREATE TABLE vectors (
  model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (digest, model)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
  text, content='chunks', content_rowid='id', prefix='1 2', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
  INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
END;
"""


def create_tables(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables in a new file, or check that the file is one of a library.

    Raises:
        ConfigurationError: when the file is something else.
    """
    (application,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application == _APPLICATION and version == _VERSION:
        return
    if application or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        raise ConfigurationError(f"{path}: this database is not a library of this version. Name another file.")
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; COMMIT;"
    )
