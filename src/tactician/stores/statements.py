"""Statements on the tables of a store.

Each statement is atomic by itself. All times come from the database.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Insert,
    Integer,
    Select,
    String,
    Update,
    and_,
    bindparam,
    case,
    delete,
    false,
    func,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.functions import FunctionElement

from tactician.stores.document import AT_ONCE
from tactician.stores.tables import bodies, create_rank, documents, steps


class _Now(FunctionElement[float]):
    """Time of the database in seconds since the epoch, the same in the whole statement."""

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

_IS_IN_COLLECTION = documents.c.collection == bindparam("of_collection", type_=String)
_IS_DOCUMENT = and_(_IS_IN_COLLECTION, documents.c.id == bindparam("of_id", type_=String))
_IS_NEWEST = documents.c.fence == bindparam("of_fence", type_=Integer)
_IS_NOT_RELEASED = documents.c.expires_at > 0
_LAST_STEP = (
    select(func.coalesce(func.max(steps.c.number), 0))
    .where(steps.c.document == documents.c.number)
    .correlate(documents)
    .scalar_subquery()
)

_CHANGED: Final = "kind", "name", "status", "parent_id", "key", "priority", "is_closed", "header"
_STORED: Final = "collection", "id", "version", *_CHANGED, "due_at", "created_at", "updated_at", "number"
FIELDS: Final = *_STORED, "is_leased", "owner", "lease_ends_at", "steps", "body"
"""Fields of the rows, in order; without the last when bodies are not read."""
_FOUND: Final = (
    *(documents.c[name] for name in _STORED),
    (documents.c.expires_at > _NOW).label("is_leased"),
    case((documents.c.expires_at > _NOW, documents.c.owner), else_="").label("owner"),
    case((documents.c.expires_at > _NOW, documents.c.expires_at)).label("lease_ends_at"),
    _LAST_STEP.label("steps"),
)
_SAVED = (documents.c.number, documents.c.due_at, documents.c.created_at, documents.c.updated_at)


def _new(*names: str) -> dict[str, ColumnElement[Any]]:
    return {name: bindparam(f"new_{name}", type_=documents.c[name].type) for name in names}


_WITH_BODY: Final = documents.outerjoin(bodies)
LOAD: Final[Select[Any]] = select(*_FOUND, bodies.c.body).select_from(_WITH_BODY).where(_IS_DOCUMENT)
LOAD_BODILESS: Final[Select[Any]] = select(*_FOUND).where(_IS_DOCUMENT)
FENCE: Final[Select[Any]] = select(documents.c.fence, documents.c.expires_at, documents.c.is_closed).where(_IS_DOCUMENT)
LIST_IDS: Final[Select[Any]] = select(documents.c.id).where(_IS_IN_COLLECTION).order_by(documents.c.number)
ADD: Final[Insert] = (
    insert(documents)
    .values(
        **_new("collection", "id", *_CHANGED),
        version=1,
        due_at=case((_DUE_AT == AT_ONCE, _NOW), else_=_DUE_AT),
        created_at=_NOW,
        updated_at=_NOW,
    )
    .returning(*_SAVED)
)
ADD_AND_CLAIM: Final[Insert] = ADD.values(owner=bindparam("by"), fence=1, expires_at=_LEASE_END).returning(
    documents.c.fence, documents.c.expires_at
)
SAVE: Final[Update] = (
    update(documents)
    .where(_IS_DOCUMENT, documents.c.version == bindparam("of_version", type_=Integer))
    .values(
        **_new(*_CHANGED),
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
SAVE_HELD: Final[Update] = SAVE.where(_IS_NEWEST)
DELETE: Final[ReturningDelete[Any]] = delete(documents).where(_IS_DOCUMENT).returning(documents.c.number)
RENEW: Final[Update] = (
    update(documents)
    .where(_IS_DOCUMENT, _IS_NEWEST, _IS_NOT_RELEASED)
    .values(expires_at=_LEASE_END)
    .returning(documents.c.expires_at)
)
RELEASE: Final[Update] = (
    update(documents).where(_IS_DOCUMENT, _IS_NEWEST).values(expires_at=0.0).returning(documents.c.number)
)

_STEP = bindparam("new_number", type_=Integer)
_IS_OPEN = documents.c.is_closed == false()
REST: Final[Update] = SAVE_HELD.where(_IS_NOT_RELEASED, _IS_OPEN, _STEP == _LAST_STEP + 1).values(expires_at=0.0)
# Who claims the document, or closes it, waits for the lock or is waited for: the row is then checked once more.
_APPENDED_TO = (
    select(documents.c.number, _STEP, _NOW, bindparam("new_body", type_=String))
    .where(_IS_DOCUMENT, _IS_NEWEST, _IS_NOT_RELEASED, _IS_OPEN, _STEP == _LAST_STEP + 1)
    .with_for_update(read=True, of=documents)
)
APPEND: Final[Insert] = (
    insert(steps).from_select(["document", "number", "created_at", "body"], _APPENDED_TO).returning(steps.c.document)
)


def add_step(written: FromClause) -> Insert:
    """Return the statement that appends `new_step` to the log of a document.

    Args:
        written: the document, as a row with its `number`.
    """
    last = select(func.coalesce(func.max(steps.c.number), 0)).where(steps.c.document == written.c.number)
    added = select(written.c.number, last.scalar_subquery() + 1, _NOW, bindparam("new_step", type_=String))
    return insert(steps).from_select(["document", "number", "created_at", "body"], added)


LOAD_STEPS: Final[Select[Any]] = (
    select(steps.c.number, steps.c.created_at, steps.c.body)
    .join(documents)
    .where(_IS_DOCUMENT, steps.c.number > bindparam("after", type_=Integer))
    .order_by(steps.c.number)
)
LOAD_STEPS_UNTIL: Final[Select[Any]] = LOAD_STEPS.where(steps.c.number <= bindparam("until", type_=Integer))


@cache
def claim(*, by_id: bool, by_name: bool, excludes: bool) -> Update:
    """Return the statement that claims a document: that with the id, or the first that is due.

    Args:
        by_id: only the document with a certain id.
        by_name: only documents with certain names.
        excludes: not the documents with certain ids.
    """
    table = documents.alias("candidates")
    filters: list[ColumnElement[bool]] = [
        table.c.collection == bindparam("of_collection", type_=String),
        table.c.expires_at <= _NOW,
        table.c.is_closed == false(),
        table.c.id == bindparam("of_id", type_=String) if by_id else table.c.due_at <= _NOW,
    ]
    if by_name:
        filters.append(table.c.name.in_(bindparam("names", expanding=True)))
    if excludes:
        filters.append(table.c.id.not_in(bindparam("excluded_ids", expanding=True)))
    # Of many who claim any document each locks another; a claim by id waits for the lock of its document.
    row = (
        select(table.c.number)
        .where(*filters)
        .order_by(create_rank(table), table.c.number)
        .limit(1)
        .with_for_update(skip_locked=not by_id)
        .scalar_subquery()
    )
    return (
        update(documents)
        .where(documents.c.number == row)
        .values(owner=bindparam("by"), fence=documents.c.fence + 1, expires_at=_LEASE_END)
        .returning(documents.c.id.label("of_id"), documents.c.fence, documents.c.expires_at)
    )


def find(
    collection: str,
    statuses: Collection[str],
    names: Collection[str],
    parent_id: str | None,
    key: str | None,
    limit: int,
    *,
    with_bodies: bool,
    newest_first: bool,
    after: int | None,
) -> Select[Any]:
    """Return the statement that finds the documents that match every filter, in the order of their first save."""
    query = select(*_FOUND, bodies.c.body).select_from(_WITH_BODY) if with_bodies else select(*_FOUND)
    order = documents.c.number.desc() if newest_first else documents.c.number
    query = query.where(documents.c.collection == collection).order_by(order).limit(limit)
    if after is not None:
        query = query.where(documents.c.number < after if newest_first else documents.c.number > after)
    if statuses:
        query = query.where(documents.c.status.in_(statuses))
    if names:
        query = query.where(documents.c.name.in_(names))
    if parent_id is not None:
        query = query.where(documents.c.parent_id == parent_id)
    return query if key is None else query.where(documents.c.key == key)


COUNT_STATUSES: Final[Select[Any]] = (
    select(documents.c.status, func.count().label("found")).where(_IS_IN_COLLECTION).group_by(documents.c.status)
)


def prune(collection: str, seconds: float, statuses: Collection[str], limit: int) -> ReturningDelete[Any]:
    """Return the statement that deletes the oldest closed documents."""
    old = (
        select(documents.c.number)
        .where(documents.c.collection == collection, documents.c.is_closed == true())
        .where(documents.c.updated_at <= _NOW - seconds)
        .order_by(documents.c.number)
        .limit(limit)
    )
    if statuses:
        old = old.where(documents.c.status.in_(statuses))
    return delete(documents).where(documents.c.number.in_(old)).returning(documents.c.number)
