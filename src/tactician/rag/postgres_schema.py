"""Tables of a library in a PostgreSQL database, and its queries for words."""

from __future__ import annotations

from typing import Final

from tactician.rag.filters import Filter
from tactician.rag.text_query import Clause, ClauseKind, Occurrence, TextQuery

LOCK: Final = 7208130312
"""Number of the lock under which the tables are created. No other program uses it."""
TABLES: Final = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS library_documents (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uri text NOT NULL UNIQUE, key text NOT NULL UNIQUE,
  title text NOT NULL, fingerprint text NOT NULL, chunks integer NOT NULL, ingested_at double precision NOT NULL,
  metadata jsonb NOT NULL
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
CREATE TABLE IF NOT EXISTS library_vectors (
  digest bytea NOT NULL, model text NOT NULL, vector halfvec NOT NULL, PRIMARY KEY (digest, model)
);
CREATE INDEX IF NOT EXISTS library_vectors_of_models ON library_vectors (model);
"""
CHUNKS: Final = "library_chunks c JOIN library_documents d ON d.id = c.document"
CHUNK_COLUMNS: Final = f"d.key, c.position, c.section, c.path, c.text, d.uri, d.metadata::text FROM {CHUNKS}"
SECTION_COLUMNS: Final = (
    "s.key, s.parent, s.path, s.text, d.uri FROM library_sections s JOIN library_documents d ON d.id = s.document"
)
RECORD_COLUMNS: Final = "uri, title, fingerprint, chunks, ingested_at, metadata::text FROM library_documents"


class Parameters:
    """Values of a statement, which stand in it as `$1`, `$2` and so on."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def add(self, value: object) -> str:
        """Add a value, and return what stands for it in the statement."""
        self.values.append(value)
        return f"${len(self.values)}"


def build_condition(where: Filter, parameters: Parameters) -> str:
    """Return the condition that a filter is for the metadata of documents, `d.metadata`.

    Numbers, texts and lists of them are compared as JSON: text in a list, `@>`, holds for the members of a list too.
    """
    parts = []
    for condition in where.conditions:
        key, values = parameters.add(condition.key), parameters.add(list(condition.values))
        parts.append(
            f"EXISTS (SELECT 1 FROM jsonb_array_elements({values}::jsonb) AS accepted(value) "
            f"WHERE (d.metadata -> {key}::text) @> accepted.value)"
        )
    return " AND ".join(parts) or "true"


def build_word_query(query: TextQuery, parameters: Parameters, similar: dict[str, list[str]]) -> str:
    """Return the expression of the type `tsquery` for a query. Words are values of the statement, not parts of it.

    Args:
        query: the query.
        parameters: the values.
        similar: the words of the index that are similar to the fuzzy words.
    """

    def format_clause(clause: Clause) -> str:
        text = " ".join(clause.words).replace("_", " ")  # as in the index, where only letters and digits are words
        if clause.kind is ClauseKind.PREFIX:
            return f"to_tsquery('english', {parameters.add(_quote(text) + ':*')}::text)"
        if clause.kind is ClauseKind.FUZZY:
            return _join(" || ", [f"phraseto_tsquery('english', {parameters.add(each)}::text)" for each in [
                text, *similar.get(text, ())
            ]])  # fmt: skip
        return f"phraseto_tsquery('english', {parameters.add(text)}::text)"

    needed, optional, excluded = (list(map(format_clause, query.select(role))) for role in (
        Occurrence.MUST, Occurrence.SHOULD, Occurrence.MUST_NOT
    ))  # fmt: skip
    any_of = [_join(" || ", [*needed[:1], *optional])] if optional else []
    return _join(" && ", [*needed, *any_of, *(f"(!! {each})" for each in excluded)])


def _join(operator: str, parts: list[str]) -> str:
    return f"({operator.join(parts)})"


def _quote(word: str) -> str:
    """Return a word as a lexeme in quotes. Words have letters, digits and underscores only; this makes sure."""
    return "'" + word.replace("\\", "").replace("'", "") + "'"
