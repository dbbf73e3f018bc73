"""Tables of a store in a database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    literal_column,
    select,
)

from tactician.errors import ConfigurationError
from tactician.stores.document import PRIORITY_AGEING
from tactician.stores.sqlite_listing import SCHEMA_VERSION

metadata = MetaData()

schema = Table("tactician_schema", metadata, Column("version", Integer, nullable=False))

_NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")

# SQLite rewrites a row as a whole. So what changes often is here, and what may be large is in tables of its own.
documents = Table(
    "tactician_documents",
    metadata,
    Column("number", _NUMBER, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("parent_id", Text),
    Column("key", Text),
    Column("priority", Integer, nullable=False),
    Column("due_at", Double),
    Column("is_closed", Boolean, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("expires_at", Double, nullable=False, server_default="0"),
    Column("header", Text, nullable=False),
    UniqueConstraint("collection", "id"),
    UniqueConstraint("collection", "key"),
    # A row that somebody deletes by hand, without the rows that belong to it, must not hand them on to a new row.
    sqlite_autoincrement=True,
)
bodies = Table(
    "tactician_bodies",
    metadata,
    Column("document", ForeignKey(documents.c.number, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
)
steps = Table(
    "tactician_steps",
    metadata,
    Column("document", ForeignKey(documents.c.number, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("created_at", Double, nullable=False),
    Column("body", Text, nullable=False),
)
attachments = Table(
    "tactician_attachments",
    metadata,
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
attachment_uses = Table(
    "tactician_attachment_uses",
    metadata,
    Column("document", ForeignKey(documents.c.number, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("attachment", ForeignKey(attachments.c.name), primary_key=True),
)
Index("tactician_attachment_users", attachment_uses.c.attachment)


def create_rank(table: FromClause) -> ColumnElement[float]:
    """Return the expression by which documents are claimed, the smallest first.

    The order of two documents never changes, so that an index has it: a point of priority is worth as many seconds of
    waiting at any time.
    """
    return table.c.due_at - table.c.priority * literal_column(f"{PRIORITY_AGEING}", Double)


_IS_DUE_SOMETIME = documents.c.due_at.is_not(None)
_QUEUE = Index(
    "tactician_documents_queue",
    documents.c.collection,
    create_rank(documents),
    documents.c.number,
    sqlite_where=_IS_DUE_SOMETIME,
    postgresql_where=_IS_DUE_SOMETIME,
)
_FIND_QUEUE: Final = {
    "sqlite": f"SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = '{_QUEUE.name}'",
    "postgresql": f"SELECT to_regclass('{_QUEUE.name}')::text",
}
_IS_PART = documents.c.parent_id.is_not(None)
Index(
    "tactician_documents_parent",
    documents.c.collection,
    documents.c.parent_id,
    documents.c.number,
    sqlite_where=_IS_PART,
    postgresql_where=_IS_PART,
)
Index("tactician_documents_status", documents.c.collection, documents.c.status, documents.c.number)


def create_tables(connection: Connection, *begin: str) -> None:
    """Create the tables of a new database, or check that the tables have this version.

    Args:
        connection: connection to the database.
        *begin: statements that begin a transaction and keep others from doing the same meanwhile.

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
    elif connection.exec_driver_sql(_FIND_QUEUE[connection.dialect.name]).scalar() is None:
        _QUEUE.create(connection)  # a database of an earlier Tactician has an index by another order
        connection.exec_driver_sql("DROP INDEX IF EXISTS tactician_documents_due")
    connection.exec_driver_sql("COMMIT")
