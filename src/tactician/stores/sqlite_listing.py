"""List of the documents in an SQLite file, for a command that does nothing else: SQLAlchemy takes longer to load."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from time import time
from typing import Final

from tactician.stores.document import StoredDocument

SCHEMA_VERSION: Final = 4
_COLUMNS: Final = (
    "collection",
    "id",
    "header",
    "version",
    "kind",
    "name",
    "status",
    "parent_id",
    "key",
    "priority",
    "due_at",
    "is_closed",
    "created_at",
    "updated_at",
)


def list_documents(
    path: str, collection: str, *, statuses: Collection[str] = (), limit: int = 1000, newest_first: bool = False
) -> list[StoredDocument] | None:
    """Return the documents of a collection without their bodies and the numbers of their steps, oldest or newest first.

    Returns:
        `None` when the file cannot be read in this simple way: `SqliteStore` says why, or can.
    """
    import sqlite3  # programs without such a file do not load it

    where = f"WHERE collection = ?{f' AND status IN ({_marks(statuses)})' if statuses else ''}"
    order = "DESC" if newest_first else "ASC"
    query = f"SELECT {', '.join(_COLUMNS)}, expires_at FROM tactician_documents {where} ORDER BY number {order} LIMIT ?"
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as connection:
            if connection.execute("SELECT version FROM tactician_schema").fetchone() != (SCHEMA_VERSION,):
                return None
            rows = connection.execute(query, (collection, *statuses, limit)).fetchall()
    except (sqlite3.Error, ValueError):
        return None
    documents = [_read(row, time()) for row in rows]
    return None if None in documents else [document for document in documents if document is not None]


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))


def _read(row: tuple[object, ...], now: float) -> StoredDocument | None:
    """Return the document of a row; `None` when the row is damaged."""
    *values, expires_at = row
    fields = dict(zip(_COLUMNS, values, strict=True))
    if not (isinstance(fields["header"], str) and isinstance(fields["version"], int) and isinstance(expires_at, float)):
        return None
    fields["is_closed"] = bool(fields["is_closed"])
    return StoredDocument(body=None, is_leased=expires_at > now, **fields)  # type: ignore[arg-type]  # as the table has them
