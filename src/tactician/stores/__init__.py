"""Store of versioned documents with leases and logs of steps: in memory, SQLite and PostgreSQL.

SQLAlchemy is loaded on first use.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.stores.address import StoreVariable as StoreVariable
    from tactician.stores.address import open_store as open_store
    from tactician.stores.document_store import DocumentStore as DocumentStore
    from tactician.stores.memory import MemoryStore as MemoryStore
    from tactician.stores.postgres import PostgresStore as PostgresStore
    from tactician.stores.sqlite import SqliteStore as SqliteStore
else:
    _find, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.stores.address": "StoreVariable open_store",
            "tactician.stores.document_store": "DocumentStore",
            "tactician.stores.memory": "MemoryStore",
            "tactician.stores.postgres": "PostgresStore",
            "tactician.stores.sqlite": "SqliteStore",
        },
    )
    _EXTRAS = {"SqliteStore": "sql", "PostgresStore": "postgres"}

    def __getattr__(name: str) -> object:
        if name not in _EXTRAS:
            return _find(name)
        from tactician.extras import require_extra

        with require_extra(_EXTRAS[name], "A store needs"):
            return _find(name)
