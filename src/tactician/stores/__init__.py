"""Store of versioned documents with leases and logs of steps: in memory, SQLite and PostgreSQL.

SQLAlchemy is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tactician.extras import require_extra
from tactician.stores.address import StoreAddress, StoreVariable, open_store, store_path
from tactician.stores.checks import escape_invalid, translate_json_errors
from tactician.stores.document import AT_ONCE, Body, Lease, StoredDocument, StoredStep, SupportsJson
from tactician.stores.document_store import DocumentStore
from tactician.stores.lease_heartbeat import LEASE_HEARTBEAT, HeldLease
from tactician.stores.memory import MemoryStore
from tactician.stores.sqlite_listing import list_documents

if TYPE_CHECKING:
    from tactician.stores.postgres import PostgresStore
    from tactician.stores.sqlite import SqliteStore

__all__ = [
    "StoredDocument",
    "StoredStep",
    "Body",
    "SupportsJson",
    "AT_ONCE",
    "Lease",
    "HeldLease",
    "LEASE_HEARTBEAT",
    "DocumentStore",
    "MemoryStore",
    "SqliteStore",
    "PostgresStore",
    "open_store",
    "StoreAddress",
    "StoreVariable",
    "store_path",
    "list_documents",
    "translate_json_errors",
    "escape_invalid",
]

_MODULES = {"SqliteStore": ("sqlite", "sql"), "PostgresStore": ("postgres", "postgres")}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tactician.stores' has no attribute {name!r}")
    module, extra = _MODULES[name]
    with require_extra(extra, "A store needs"):
        value: object = getattr(import_module(f"tactician.stores.{module}"), name)
    globals()[name] = value
    return value
