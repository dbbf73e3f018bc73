"""Tables of a library in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tactician.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

_LOCK: Final = 7208130312
"""Number of the lock under which the tables are created. No other program uses it."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS library_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version bigint NOT NULL DEFAULT 0
);
INSERT INTO library_state DEFAULT VALUES ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS library_documents (
  id bigint PRIMARY KEY, uri text NOT NULL UNIQUE, key text NOT NULL UNIQUE, title text NOT NULL,
  fingerprint text NOT NULL, chunks integer NOT NULL, ingested_at double precision NOT NULL, metadata text NOT NULL
);
CREATE TABLE IF NOT EXISTS library_sections (
  key text PRIMARY KEY, document bigint NOT NULL REFERENCES library_documents ON DELETE CASCADE,
  position integer NOT NULL, parent text NOT NULL, path text NOT NULL, text text
);
CREATE INDEX IF NOT EXISTS library_sections_of_documents ON library_sections (document, position);
CREATE TABLE IF NOT EXISTS library_chunks (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document bigint NOT NULL REFERENCES library_documents ON DELETE CASCADE, position integer NOT NULL,
  section text NOT NULL, path text NOT NULL, text text NOT NULL, digest bytea NOT NULL,
  words tsvector GENERATED ALWAYS AS (
    to_tsvector('english', regexp_replace(text, '[^[:alnum:]]+', ' ', 'g'))
  ) STORED, UNIQUE (document, position)
);
CREATE INDEX IF NOT EXISTS library_chunks_by_digest ON library_chunks (digest);
CREATE INDEX IF NOT EXISTS library_chunks_by_words ON library_chunks USING gin (words);
CREATE TABLE IF NOT EXISTS library_vocabulary (word text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE IF NOT EXISTS library_vectors (
  model text NOT NULL, digest bytea NOT NULL, vector bytea NOT NULL, PRIMARY KEY (digest, model)
);
CREATE TABLE IF NOT EXISTS library_models (model text PRIMARY KEY, complete bigint NOT NULL);
"""
_LAYOUT: Final[Mapping[str, str]] = {
    "library_state": "only_row bool, version int8",
    "library_documents": (
        "id int8, uri text, key text, title text, fingerprint text, chunks int4, ingested_at float8, metadata text"
    ),
    "library_sections": "key text, document int8, position int4, parent text, path text, text text",
    "library_chunks": (
        "id int8, document int8, position int4, section text, path text, text text, digest bytea, words tsvector"
    ),
    "library_vocabulary": "word text, version int8",
    "library_vectors": "model text, digest bytea, vector bytea",
    "library_models": "model text, complete int8",
}
"""Columns of the tables, with their types."""
_FIND_LAYOUT: Final = """
SELECT table_name, string_agg(column_name || ' ' || udt_name, ', ' ORDER BY ordinal_position)
FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ANY($1) GROUP BY table_name
"""


async def create_tables(connection: PoolConnectionProxy) -> None:
    """Create the tables that are not there, inside a transaction.

    Raises:
        ConfigurationError: when a table of the same name is that of another version, or of another program.
    """
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    known = await connection.fetch(_FIND_LAYOUT, [*_LAYOUT])
    if others := sorted(name for name, columns in known if columns != _LAYOUT[name]):
        raise ConfigurationError(
            f"The database has tables of a library of another version: {', '.join(others)}. Name another database, or "
            "drop the tables whose names begin with library_ and ingest the documents again."
        )
    await connection.execute(_TABLES)
