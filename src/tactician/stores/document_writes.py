"""Writes of a document together with its body and its log, atomic in every database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BindParameter,
    Connection,
    Executable,
    Insert,
    Integer,
    Row,
    Select,
    String,
    Update,
    bindparam,
    delete,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from tactician.stores.attachment_rows import (
    delete_unused_attachments,
    detach_attachments,
    list_attachments,
    write_attachments,
)
from tactician.stores.statements import APPEND, DELETE, add_step
from tactician.stores.tables import bodies, documents, steps

_NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})


class LogChange(Enum):
    """Change of the log that is written together with a document: none, a step `new_step`, or no steps any more."""

    NONE = "none"
    ADD = "add"
    CLEAR = "clear"


def write_document(
    connection: Connection,
    write: Insert | Update,
    values: Mapping[str, object],
    log: LogChange = LogChange.NONE,
    attachments: Mapping[str, bytes] = _NOTHING,
) -> Sequence[Row[Any]]:
    """Execute a statement that writes a document, write `new_body` of the values unless that is `None`, and the log.

    Args:
        connection: connection to the database.
        write: the statement.
        values: its parameters.
        log: change of the log.
        attachments: attachments of the body or the step, by their names.
    """
    statement, others = _select_statements(connection, write, log, has_body=values["new_body"] is not None)
    if not others and not attachments and log is not LogChange.CLEAR:
        return connection.execute(statement, values).all()
    detached: list[str] = []
    with transaction(connection):
        rows = connection.execute(statement, values).all()
        for row in rows:
            for other in others:
                connection.execute(other, {**values, "of_document": row.number})
            if log is LogChange.CLEAR:  # the body has all that is left of the log
                detached += detach_attachments(connection, row.number, attachments)
        _attach(connection, [row.number for row in rows], attachments)
    delete_unused_attachments(connection, detached)
    return rows


def append_step(
    connection: Connection, values: Mapping[str, object], attachments: Mapping[str, bytes]
) -> Sequence[Row[Any]]:
    """Append a step to the log of a leased document, with its attachments."""
    if not attachments:
        return connection.execute(APPEND, values).all()
    with transaction(connection):
        rows = connection.execute(APPEND, values).all()
        _attach(connection, [row.document for row in rows], attachments)
    return rows


def delete_document(connection: Connection, key: Mapping[str, object]) -> Sequence[Row[Any]]:
    """Delete a document, with the attachments that no other document has."""
    names = list_attachments(connection, key)
    rows = connection.execute(DELETE, key).all()
    delete_unused_attachments(connection, names)
    return rows


def _attach(connection: Connection, numbers: Sequence[int], attachments: Mapping[str, bytes]) -> None:
    for number in numbers:
        write_attachments(connection, number, attachments)


_BODY: Final = bindparam("new_body", type_=String)
_DOCUMENT: Final[BindParameter[int]] = bindparam("of_document", type_=Integer)
_ADD_BODY: Final = sqlite.insert(bodies).values(document=_DOCUMENT, body=_BODY)
_WRITE_BODY: Final[Executable] = _ADD_BODY.on_conflict_do_update(
    index_elements=["document"], set_={"body": _ADD_BODY.excluded.body}
)
_WRITE_LOG: Final[Mapping[LogChange, Executable]] = {
    LogChange.ADD: add_step(select(documents.c.number).where(documents.c.number == _DOCUMENT).subquery()),
    LogChange.CLEAR: delete(steps).where(steps.c.document == _DOCUMENT),
}


def _select_statements(
    connection: Connection, write: Insert | Update, log: LogChange, *, has_body: bool
) -> tuple[Executable, Sequence[Executable]]:
    """Return the statement that writes a document, and those that write what belongs to it."""
    if not has_body and log is LogChange.NONE:
        return write, ()
    if connection.dialect.name == "postgresql":  # which has a single statement for all tables
        return _write_all(write, log, has_body=has_body), ()
    return write, (*((_WRITE_BODY,) if has_body else ()), *((_WRITE_LOG[log],) if log in _WRITE_LOG else ()))


@cache
def _write_all(write: Insert | Update, log: LogChange, *, has_body: bool) -> Select[Any]:
    """Return the statement for PostgreSQL that writes a document and what belongs to it."""
    written = write.cte("written")
    statement = select(written)
    if has_body:
        statement = statement.add_cte(_write_body(written))
    if log is LogChange.ADD:
        statement = statement.add_cte(add_step(written).cte("step"))
    elif log is LogChange.CLEAR:
        statement = statement.add_cte(delete(steps).where(steps.c.document == written.c.number).cte("steps_before"))
    return statement


def _write_body(written: CTE) -> CTE:
    added = postgresql.insert(bodies).from_select(["document", "body"], select(written.c.number, _BODY))
    body = added.on_conflict_do_update(index_elements=["document"], set_={"body": added.excluded.body})
    return body.cte("body")


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Do all or nothing in a `with` block. Inside another such block, what is around decides."""
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite and getattr(connection.connection, "in_transaction"):  # noqa: B009 - the driver's own attribute
        yield
        return
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite else "BEGIN")
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError):  # SQLite has undone all by itself after some errors
            connection.exec_driver_sql("ROLLBACK")
        raise
