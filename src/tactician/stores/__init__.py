"""Where runs, processes and contexts are kept beyond this process: databases. SQLAlchemy is loaded on first use."""

from typing import TYPE_CHECKING

from tactician.errors import MissingExtraError

if TYPE_CHECKING:
    from tactician.stores.sql import SqliteProcessStore, SqlRunStore

__all__ = ["SqlRunStore", "SqliteProcessStore"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tactician.stores' has no attribute {name!r}")
    try:
        from tactician.stores import sql
    except ModuleNotFoundError as error:
        hint = 'pip install "tactician[sql]" for SQLite, "tactician[postgres]" for PostgreSQL'
        raise MissingExtraError(f"A store needs {error.name}, which is not installed. Run: {hint}") from error
    value: object = getattr(sql, name)
    return value
