"""Attachments in a database: each is stored once, for as long as a document has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, Integer, String, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from tactician.stores.tables import attachment_uses, attachments, documents

_OF_DOCUMENT: Final = (documents.c.collection == bindparam("of_collection")) & (documents.c.id == bindparam("of_id"))
_LOAD: Final = (
    select(attachments.c.name, attachments.c.content)
    .join(attachment_uses, attachment_uses.c.attachment == attachments.c.name)
    .join(documents, documents.c.number == attachment_uses.c.document)
    .where(_OF_DOCUMENT, attachments.c.name.in_(bindparam("names", type_=String, expanding=True)))
)
_LIST: Final = (
    select(attachment_uses.c.attachment)
    .join(documents, documents.c.number == attachment_uses.c.document)
    .where(_OF_DOCUMENT)
)
_DETACH: Final = (
    delete(attachment_uses)
    .where(
        attachment_uses.c.document == bindparam("of_document", type_=Integer),
        attachment_uses.c.attachment.not_in(bindparam("names", type_=String, expanding=True)),
    )
    .returning(attachment_uses.c.attachment)
)
_IS_UNUSED: Final = ~select(attachment_uses).where(attachment_uses.c.attachment == attachments.c.name).exists()
_DELETE_UNUSED: Final = delete(attachments).where(_IS_UNUSED)
_DELETE_SOME: Final = _DELETE_UNUSED.where(attachments.c.name.in_(bindparam("names", type_=String, expanding=True)))


def write_attachments(connection: Connection, document: int, contents: Mapping[str, bytes]) -> None:
    """Store the attachments of a document, inside the transaction that writes the document.

    Args:
        connection: connection to the database.
        document: number of the document.
        contents: the attachments by their names.
    """
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    for name in sorted(contents):  # the same order for all who write, so that none waits for another in a circle
        added = insert(attachments).values(name=name, content=contents[name])
        # An attachment that is there is locked, so that nobody deletes it meanwhile.
        connection.execute(added.on_conflict_do_update(index_elements=["name"], set_={"name": added.excluded.name}))
        used = insert(attachment_uses).values(document=document, attachment=name)
        connection.execute(used.on_conflict_do_nothing())


def detach_attachments(connection: Connection, document: int, kept: Collection[str]) -> list[str]:
    """Take all other attachments from a document, and return their names."""
    values = {"of_document": document, "names": list(kept)}
    return [row.attachment for row in connection.execute(_DETACH, values)]


def load_attachments(
    connection: Connection, key: Mapping[str, object], names: Collection[str]
) -> Sequence[tuple[str, bytes]]:
    """Return those attachments of a document that have these names."""
    return [(row.name, row.content) for row in connection.execute(_LOAD, {**key, "names": list(names)})]


def list_attachments(connection: Connection, key: Mapping[str, object]) -> list[str]:
    """Return the names of the attachments of a document."""
    return [row.attachment for row in connection.execute(_LIST, key)]


def delete_unused_attachments(connection: Connection, names: Collection[str] | None = None) -> None:
    """Delete attachments that no document has any more.

    Args:
        connection: connection to the database.
        names: the only ones to look at; all by default.
    """
    try:
        if names is None:
            connection.execute(_DELETE_UNUSED)
        elif names:
            connection.execute(_DELETE_SOME, {"names": list(names)})
    except IntegrityError:  # another program has begun to use one of them: the next deletion finds the others
        return
