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
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.stores.address": "StoreVariable open_store",
            "tactician.stores.document_store": "DocumentStore",
            "tactician.stores.memory": "MemoryStore",
            "tactician.stores.postgres": "PostgresStore",
            "tactician.stores.sqlite": "SqliteStore",
        },
    )
