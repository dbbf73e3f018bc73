"""Tables of a library in a PostgreSQL database."""

from __future__ import annotations

from typing import Final

LOCK: Final = 7208130312
"""Number of the lock under which the tables are created. No other program uses it."""
TABLES: Final = """
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
