"""Writes of a document together with its body, atomic in every database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Executable, Insert, Row, Select, String, Update, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from tactician.stores.tables import bodies

_BODY: Final = bindparam("new_body", type_=String)


def write_document(connection: Connection, write: Insert | Update, values: Mapping[str, object]) -> Sequence[Row[Any]]:
    """Execute a statement that writes a document, and write `new_body` of the values unless that is `None`."""
    if values["new_body"] is None:
        return connection.execute(write, values).all()
    if connection.dialect.name == "postgresql":  # which has one statement for both tables
        return connection.execute(_write_both(write), values).all()
    with _transaction(connection):
        rows = connection.execute(write, values).all()
        for row in rows:
            connection.execute(_WRITE_BODY, {"of_document": row.number, "new_body": values["new_body"]})
    return rows


@cache
def _write_both(write: Insert | Update) -> Select[Any]:
    written = write.cte("written")
    added = postgresql.insert(bodies).from_select(["document", "body"], select(written.c.number, _BODY))
    body = added.on_conflict_do_update(index_elements=["document"], set_={"body": added.excluded.body})
    return select(written).add_cte(body.cte("body"))


_ADD_BODY: Final = sqlite.insert(bodies).values(document=bindparam("of_document"), body=_BODY)
_WRITE_BODY: Final[Executable] = _ADD_BODY.on_conflict_do_update(
    index_elements=["document"], set_={"body": _ADD_BODY.excluded.body}
)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
        connection.exec_driver_sql("COMMIT")
    except BaseException:
        with suppress(SQLAlchemyError):  # SQLite has undone all by itself after some errors
            connection.exec_driver_sql("ROLLBACK")
        raise
