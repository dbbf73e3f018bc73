"""Places of libraries: paths of SQLite files, and URLs of databases."""

from __future__ import annotations

from pathlib import Path

from tactician.extras import require_extra
from tactician.rag.chunk_store import ChunkStore
from tactician.rag.sqlite_store import SqliteChunkStore
from tactician.stores.address import store_path


def open_chunk_store(location: str | Path | ChunkStore | None) -> ChunkStore:
    """Return the store at a place; in memory without one.

    Raises:
        ConfigurationError: when the place is not valid.
        MissingExtraError: when the extra that it needs is not installed.
    """
    if location is None:
        return SqliteChunkStore()
    if not isinstance(location, str | Path):
        return location
    if (path := store_path(location)) is not None:
        return SqliteChunkStore(path)
    with require_extra("postgres", "A library in PostgreSQL needs"):
        from tactician.rag.postgres_store import PostgresChunkStore

    return PostgresChunkStore(str(location))
