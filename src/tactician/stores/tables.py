"""The tables of a store in a database, and all statements on them.

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
    Double,
    Index,
    Insert,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.functions import FunctionElement

from tactician.runs.store import ENDED

SCHEMA_VERSION: Final = 1

metadata = MetaData()

schema = Table("tactician_schema", metadata, Column("version", Integer, nullable=False))

# `due`: from then on anybody may claim the run; NULL when nobody may, unless by its id. The state is last, because
# SQLite reads a long row up to the columns that it needs.
runs = Table(
    "tactician_runs",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("parent_id", Text),
    Column("wakes_at", Double),
    Column("due", Double),
    Column("owner", Text, nullable=False, server_default=""),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("expires_at", Double, nullable=False, server_default="0"),
    Column("state", Text, nullable=False),
    Index("tactician_runs_due", "due", "number"),
    Index("tactician_runs_status", "status", "number"),
)

contexts = Table(
    "tactician_contexts",
    metadata,
    Column("context_id", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("state", Text, nullable=False),
)


class _Now(FunctionElement[float]):
    """The time of the database, in seconds since the epoch: the same one in the whole statement."""

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
_RUNS = bindparam("runs", type_=Boolean)
_WAKES = bindparam("wakes", type_=Double)
_SECONDS = bindparam("seconds", type_=Double)

_RECORD = (
    runs.c.run_id,
    runs.c.name,
    runs.c.status,
    runs.c.state,
    runs.c.version,
    runs.c.kind,
    runs.c.parent_id,
    runs.c.wakes_at,
)
_IS_RUN = runs.c.run_id == bindparam("of_run", type_=String)
_IS_HELD = runs.c.fence == bindparam("of_fence", type_=Integer)

LOAD: Final[Select[Any]] = select(*_RECORD).where(_IS_RUN)
FENCE: Final[Select[Any]] = select(runs.c.fence).where(_IS_RUN)
ADD: Final[Insert] = insert(runs).values(version=1, due=case((_RUNS, _NOW), else_=_WAKES)).returning(runs.c.number)
ADD_HELD: Final[Insert] = ADD.values(owner=bindparam("by"), fence=1, expires_at=_NOW + _SECONDS).returning(
    runs.c.fence, runs.c.expires_at
)
# A run that could be claimed before keeps its place among those that wait for a worker.
SAVE: Final[Update] = (
    update(runs)
    .where(_IS_RUN, runs.c.version == bindparam("of_version", type_=Integer))
    .values(
        version=runs.c.version + 1,
        due=case((and_(_RUNS, runs.c.due <= _NOW), runs.c.due), (_RUNS, _NOW), else_=_WAKES),
    )
    .returning(runs.c.version)
)
SAVE_HELD: Final[Update] = SAVE.where(_IS_HELD)
DELETE: Final[ReturningDelete[Any]] = delete(runs).where(_IS_RUN).returning(runs.c.number)
RENEW: Final[Update] = (
    update(runs)
    .where(_IS_RUN, _IS_HELD, runs.c.expires_at > 0)
    .values(expires_at=_NOW + _SECONDS)
    .returning(runs.c.expires_at)
)
RELEASE: Final[Update] = update(runs).where(_IS_RUN, _IS_HELD).values(expires_at=0.0).returning(runs.c.number)

_IS_CONTEXT = contexts.c.context_id == bindparam("of_context", type_=String)
LOAD_CONTEXT: Final[Select[Any]] = select(contexts.c.state, contexts.c.version).where(_IS_CONTEXT)
ADD_CONTEXT: Final[Insert] = insert(contexts).values(version=1).returning(contexts.c.version)
SAVE_CONTEXT: Final[Update] = (
    update(contexts)
    .where(_IS_CONTEXT, contexts.c.version == bindparam("of_version", type_=Integer))
    .values(version=contexts.c.version + 1)
    .returning(contexts.c.version)
)


@cache
def claim(*, by_id: bool, by_name: bool, is_choosy: bool = False) -> Update:
    """Takes one run that is nobody's: the one with the id, or the one that has been due for longest.

    Args:
        by_id: whether a certain run is wanted.
        by_name: whether only runs with certain names are.
        is_choosy: whether there are runs that are not.
    """
    found = runs.alias("found")
    wanted: list[ColumnElement[bool]] = [found.c.expires_at <= _NOW]
    if by_id:
        wanted += [found.c.run_id == bindparam("of_run"), found.c.status.not_in(sorted(ENDED))]
    else:
        wanted.append(found.c.due <= _NOW)
    if by_name:
        wanted.append(found.c.name.in_(bindparam("names", expanding=True)))
    if is_choosy:
        wanted.append(found.c.run_id.not_in(bindparam("passed_over", expanding=True)))
    # Of many who look for any run each locks another one; who wants a certain run waits for its lock.
    one = (
        select(found.c.number)
        .where(*wanted)
        .order_by(found.c.due, found.c.number)
        .limit(1)
        .with_for_update(skip_locked=not by_id)
        .scalar_subquery()
    )
    return (
        update(runs)
        .where(runs.c.number == one)
        .values(owner=bindparam("by"), fence=runs.c.fence + 1, expires_at=_NOW + _SECONDS)
        .returning(*_RECORD, runs.c.fence, runs.c.expires_at)
    )


def records(statuses: Collection[str], names: Collection[str], limit: int) -> Select[Any]:
    """The runs that have one of the statuses and names, oldest first; without any, all."""
    found = select(*_RECORD).order_by(runs.c.number).limit(limit)
    if statuses:
        found = found.where(runs.c.status.in_(statuses))
    return found.where(runs.c.name.in_(names)) if names else found
