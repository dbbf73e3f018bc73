"""Tables of a library in a PostgreSQL database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tactician.errors import ConfigurationError
from tactician.rag.segmentation import drop_accents, separate_signs

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

_NO_WORD: Final = re.compile(r"[\W_]+")
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
  words tsvector, UNIQUE (document, position)
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


_FIND_GENERATED: Final = """
SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'library_chunks'
AND column_name = 'words' AND is_generated = 'ALWAYS'
"""
"""Query whether the database itself derives the words, as it did in an earlier version."""
_FIND_CHUNKS: Final = """
SELECT id, text FROM library_chunks WHERE id > $1 AND octet_length(text) > char_length(text) ORDER BY id LIMIT 1000
"""


async def create_tables(connection: PoolConnectionProxy) -> None:
    """Create the tables that are not there, inside a transaction.

    Raises:
        ConfigurationError: when another version, or another program, made a table of the same name.
    """
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    table_columns = await connection.fetch(_FIND_LAYOUT, [*_LAYOUT])
    if others := sorted(name for name, columns in table_columns if columns != _LAYOUT[name]):
        raise ConfigurationError(
            f"The database has tables of a library of another version: {', '.join(others)}. Name another database, or "
            "drop the tables whose names begin with library_ and ingest the documents again."
        )
    await connection.execute(_TABLES)
    if await connection.fetch(_FIND_GENERATED):
        await _index_anew(connection)


def normalize_words(text: str) -> str:
    """Return the words of a text as the index has them: without accents, and signs of scripts without spaces apart.

    What is no letter or digit is replaced here: the server's idea of letters depends on its locale.
    """
    return _NO_WORD.sub(" ", drop_accents(separate_signs(text)))


def index_words(text: str) -> str:
    """Return the expression for the words of a text that `normalize_words` has returned."""
    return f"to_tsvector('english', {text})"


async def _index_anew(connection: PoolConnectionProxy) -> None:
    """Index the chunks of an earlier version whose words have another form now: those that are not ASCII only."""
    await connection.execute("ALTER TABLE library_chunks ALTER COLUMN words DROP EXPRESSION")
    last = 0
    while rows := await connection.fetch(_FIND_CHUNKS, last):
        last = rows[-1]["id"]
        await connection.executemany(
            f"UPDATE library_chunks SET words = {index_words('$2')} WHERE id = $1",
            [(number, normalize_words(text)) for number, text in rows],
        )
