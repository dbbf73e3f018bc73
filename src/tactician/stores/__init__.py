"""Store of versioned documents with leases and logs of steps: in memory, SQLite and PostgreSQL.

SQLAlchemy is loaded on first use.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.stores.address import StoreAddress as StoreAddress
    from tactician.stores.address import StoreVariable as StoreVariable
    from tactician.stores.address import open_store as open_store
    from tactician.stores.address import store_path as store_path
    from tactician.stores.checks import escape_invalid as escape_invalid
    from tactician.stores.checks import translate_json_errors as translate_json_errors
    from tactician.stores.document import AT_ONCE as AT_ONCE
    from tactician.stores.document import Body as Body
    from tactician.stores.document import Lease as Lease
    from tactician.stores.document import StoredDocument as StoredDocument
    from tactician.stores.document import StoredStep as StoredStep
    from tactician.stores.document import SupportsJson as SupportsJson
    from tactician.stores.document_store import DocumentStore as DocumentStore
    from tactician.stores.lease_heartbeat import LEASE_HEARTBEAT as LEASE_HEARTBEAT
    from tactician.stores.lease_heartbeat import HeldLease as HeldLease
    from tactician.stores.memory import MemoryStore as MemoryStore
    from tactician.stores.postgres import PostgresStore as PostgresStore
    from tactician.stores.sqlite import SqliteStore as SqliteStore
    from tactician.stores.sqlite_listing import list_documents as list_documents
else:
    _find, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.stores.address": "StoreAddress StoreVariable open_store store_path",
            "tactician.stores.checks": "escape_invalid translate_json_errors",
            "tactician.stores.document": "AT_ONCE Body Lease StoredDocument StoredStep SupportsJson",
            "tactician.stores.document_store": "DocumentStore",
            "tactician.stores.lease_heartbeat": "LEASE_HEARTBEAT HeldLease",
            "tactician.stores.memory": "MemoryStore",
            "tactician.stores.postgres": "PostgresStore",
            "tactician.stores.sqlite": "SqliteStore",
            "tactician.stores.sqlite_listing": "list_documents",
        },
    )
    _EXTRAS = {"SqliteStore": "sql", "PostgresStore": "postgres"}

    def __getattr__(name: str) -> object:
        if name not in _EXTRAS:
            return _find(name)
        from tactician.extras import require_extra

        with require_extra(_EXTRAS[name], "A store needs"):
            return _find(name)
