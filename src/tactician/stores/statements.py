"""Tables of a store in a database, and all statements on them.

Each statement is atomic by itself, so there are no transactions. All times are those of the database.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    Index,
    Insert,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    Update,
    and_,
    bindparam,
    case,
    delete,
    false,
    insert,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.functions import FunctionElement

from tactician.errors import ConfigurationError
from tactician.stores.document import AT_ONCE

SCHEMA_VERSION: Final = 2

metadata = MetaData()

schema = Table("tactician_schema", metadata, Column("version", Integer, nullable=False))

# The body is last, because SQLite reads a long row up to the columns that it needs.
documents = Table(
    "tactician_documents",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("collection", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("parent_id", Text),
    Column("due_at", Double),
    Column("is_closed", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("expires_at", Double, nullable=False, server_default="0"),
    Column("body", Text, nullable=False),
    UniqueConstraint("collection", "id"),
)
_IS_DUE_SOMETIME = documents.c.due_at.is_not(None)
Index(
    "tactician_documents_due",
    documents.c.collection,
    documents.c.due_at,
    documents.c.number,
    sqlite_where=_IS_DUE_SOMETIME,
    postgresql_where=_IS_DUE_SOMETIME,
)
Index("tactician_documents_status", documents.c.collection, documents.c.status, documents.c.number)


class _Now(FunctionElement[float]):
    """Time of the database in seconds since the epoch, the same one in the whole statement."""

    name = "tactician_now"
    type = Double()
    inherit_cache = True


@compiles(_Now, "sqlite")
def _now_in_sqlite(element: _Now, compiler: SQLCompiler, **options: object) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Now, "postgresql")
def _now_in_postgresql(element: _Now, compiler: SQLCompiler, **options: object) -> str:
    # Not clock_timestamp(): that changes while a statement runs, and so no index could be used.
    return "CAST(EXTRACT(EPOCH FROM statement_timestamp()) AS DOUBLE PRECISION)"


_NOW = _Now()
_DUE_AT = bindparam("new_due_at", type_=Double)
_SECONDS = bindparam("seconds", type_=Double)
_LEASE_END = _NOW + _SECONDS

FIELDS: Final = (
    *("collection", "id", "body", "version", "kind", "name", "status", "parent_id"),
    *("due_at", "is_closed", "created_at", "updated_at"),
)
_DOCUMENT = tuple(documents.c[name] for name in FIELDS)
_IS_IN_COLLECTION = documents.c.collection == bindparam("of_collection", type_=String)
_IS_DOCUMENT = and_(_IS_IN_COLLECTION, documents.c.id == bindparam("of_id", type_=String))
_IS_HELD = documents.c.fence == bindparam("of_fence", type_=Integer)
_SAVED = (documents.c.due_at, documents.c.created_at, documents.c.updated_at)

LOAD: Final[Select[Any]] = select(*_DOCUMENT).where(_IS_DOCUMENT)
FENCE: Final[Select[Any]] = select(documents.c.fence).where(_IS_DOCUMENT)
LIST_IDS: Final[Select[Any]] = select(documents.c.id).where(_IS_IN_COLLECTION).order_by(documents.c.number)
ADD: Final[Insert] = (
    insert(documents)
    .values(version=1, due_at=case((_DUE_AT == AT_ONCE, _NOW), else_=_DUE_AT), created_at=_NOW, updated_at=_NOW)
    .returning(*_SAVED)
)
ADD_AND_CLAIM: Final[Insert] = ADD.values(owner=bindparam("by"), fence=1, expires_at=_LEASE_END).returning(
    documents.c.fence, documents.c.expires_at
)
SAVE: Final[Update] = (
    update(documents)
    .where(_IS_DOCUMENT, documents.c.version == bindparam("of_version", type_=Integer))
    .values(
        version=documents.c.version + 1,
        # A document that was due before keeps its place in the queue.
        due_at=case(
            (_DUE_AT != AT_ONCE, _DUE_AT),
            (and_(_DUE_AT == AT_ONCE, documents.c.due_at < _NOW), documents.c.due_at),
            (_DUE_AT == AT_ONCE, _NOW),
        ),
        updated_at=_NOW,
    )
    .returning(*_SAVED)
)
SAVE_HELD: Final[Update] = SAVE.where(_IS_HELD)
DELETE: Final[ReturningDelete[Any]] = delete(documents).where(_IS_DOCUMENT).returning(documents.c.number)
RENEW: Final[Update] = (
    update(documents)
    .where(_IS_DOCUMENT, _IS_HELD, documents.c.expires_at > 0)
    .values(expires_at=_LEASE_END)
    .returning(documents.c.expires_at)
)
RELEASE: Final[Update] = (
    update(documents).where(_IS_DOCUMENT, _IS_HELD).values(expires_at=0.0).returning(documents.c.number)
)


@cache
def claim(*, by_id: bool, by_name: bool, excludes: bool) -> Update:
    """Return the statement that claims one document: the one with the id, or the one that has been due for longest.

    Args:
        by_id: only the document with a certain id.
        by_name: only documents with certain names.
        excludes: not the documents with certain ids.
    """
    found = documents.alias("found")
    wanted: list[ColumnElement[bool]] = [
        found.c.collection == bindparam("of_collection", type_=String),
        found.c.expires_at <= _NOW,
        found.c.is_closed == false(),
        found.c.id == bindparam("of_id", type_=String) if by_id else found.c.due_at <= _NOW,
    ]
    if by_name:
        wanted.append(found.c.name.in_(bindparam("names", expanding=True)))
    if excludes:
        wanted.append(found.c.id.not_in(bindparam("excluded_ids", expanding=True)))
    # Of many who claim any document each locks another one; a claim by id waits for the lock of its document.
    one = (
        select(found.c.number)
        .where(*wanted)
        .order_by(found.c.due_at, found.c.number)
        .limit(1)
        .with_for_update(skip_locked=not by_id)
        .scalar_subquery()
    )
    return (
        update(documents)
        .where(documents.c.number == one)
        .values(owner=bindparam("by"), fence=documents.c.fence + 1, expires_at=_LEASE_END)
        .returning(*_DOCUMENT, documents.c.fence, documents.c.expires_at)
    )


def find(
    collection: str, statuses: Collection[str], names: Collection[str], parent_id: str | None, limit: int
) -> Select[Any]:
    """Return the statement that finds the documents that match every given filter, oldest first."""
    found = select(*_DOCUMENT).where(documents.c.collection == collection).order_by(documents.c.number).limit(limit)
    if statuses:
        found = found.where(documents.c.status.in_(statuses))
    if names:
        found = found.where(documents.c.name.in_(names))
    return found if parent_id is None else found.where(documents.c.parent_id == parent_id)


def create_tables(connection: Connection, *begin: str) -> None:
    """Create the tables of a new database, or check that the tables are those of this version.

    Args:
        begin: statements that begin a transaction and keep others from doing the same meanwhile.

    Raises:
        ConfigurationError: when the tables have another version.
    """
    for statement in begin:
        connection.exec_driver_sql(statement)
    schema.create(connection, checkfirst=True)
    version = connection.scalar(select(schema.c.version))
    if version is None:
        metadata.create_all(connection)
        connection.execute(insert(schema).values(version=SCHEMA_VERSION))
    elif version != SCHEMA_VERSION:
        raise ConfigurationError(
            f"The tables of the store have version {version}, and this Tactician knows {SCHEMA_VERSION}. "
            "Use the Tactician that made them, or another database."
        )
    connection.exec_driver_sql("COMMIT")
