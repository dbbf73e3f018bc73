"""StoredDocument store in a database, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Executable, Row
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError, StoreError
from tactician.stores import statements
from tactician.stores.document import (
    DocumentStore,
    Lease,
    StoredDocument,
    check_document,
    check_texts,
    document_conflict,
    lease_lost,
)

T = TypeVar("T")


class Database(Protocol):
    """Connections to a database whose tables exist."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run a function with a connection, and return its result."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class SqlStore(DocumentStore):
    """Documents in a database.

    Args:
        database: the database.
        address: address of the database, without a password, for messages.
    """

    def __init__(self, database: Database, address: str) -> None:
        self._database = database
        self._address = address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r})"

    async def load(self, collection: str, id: str) -> StoredDocument | None:
        """Return a document, or `None`."""
        check_texts(id=id)
        rows = await self._execute(statements.LOAD, _key(collection, id))
        return _document(rows[0]) if rows else None

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document; see `DocumentStore.save`."""
        values, key = _values(document), _key(document.collection, document.id)
        if lease is None and not document.version:
            rows = await self._execute(statements.ADD, values)
        elif lease is None:
            rows = await self._execute(statements.SAVE, values | key | {"of_version": document.version})
        else:
            held = {"of_version": document.version, "of_fence": lease.fence}
            rows = await self._execute(statements.SAVE_HELD, values | key | held)
        if not rows:
            raise await self._refusal(document, lease)
        return _saved(document, rows[0])

    async def add_and_claim(self, document: StoredDocument, owner: str, seconds: float) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it; see `DocumentStore.add_and_claim`."""
        check_texts(owner=owner)
        claim = {"by": owner, "seconds": seconds}
        rows = await self._execute(statements.ADD_AND_CLAIM, _values(document) | claim)
        if not rows:
            raise document_conflict(document.collection, document.id)
        lease = Lease(document.collection, document.id, owner, rows[0].fence, rows[0].expires_at)
        return _saved(replace(document, version=0), rows[0]), lease

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document, and return whether it existed."""
        check_texts(id=id)
        return bool(await self._execute(statements.DELETE, _key(collection, id)))

    async def find(
        self,
        collection: str,
        *,
        statuses: Collection[str] = (),
        names: Collection[str] = (),
        parent_id: str | None = None,
        limit: int = 1000,
    ) -> list[StoredDocument]:
        """Return the documents that match every given filter, oldest first."""
        found = statements.find(collection, statuses, names, parent_id, limit)
        return [_document(row) for row in await self._execute(found, {})]

    async def list_ids(self, collection: str) -> list[str]:
        """Return the ids of all documents of a collection, oldest first."""
        return [row.id for row in await self._execute(statements.LIST_IDS, {"of_collection": collection})]

    async def claim(
        self,
        collection: str,
        owner: str,
        seconds: float,
        *,
        id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[StoredDocument, Lease] | None:
        """Claim a document; see `DocumentStore.claim`."""
        check_texts(id=id, owner=owner)
        statement = statements.claim(by_id=id is not None, by_name=bool(names), excludes=bool(excluded_ids))
        wanted = {"of_collection": collection, "of_id": id, "names": list(names), "excluded_ids": list(excluded_ids)}
        rows = await self._execute(statement, wanted | {"by": owner, "seconds": seconds})
        if not rows:
            return None
        claimed = rows[0]
        return _document(claimed), Lease(collection, claimed.id, owner, claimed.fence, claimed.expires_at)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease; see `DocumentStore.renew`."""
        rows = await self._execute(statements.RENEW, _held(lease) | {"seconds": seconds})
        if not rows:
            raise lease_lost(lease.collection, lease.id)
        return replace(lease, expires_at=rows[0].expires_at)

    async def release(self, lease: Lease) -> None:
        """Release a lease, unless it is lost."""
        await self._execute(statements.RELEASE, _held(lease))

    async def aclose(self) -> None:
        """Close the connections. The store opens new ones when it is used again."""
        await self._database.aclose()

    async def _refusal(self, document: StoredDocument, lease: Lease | None) -> DocumentConflictError | LeaseLostError:
        if lease is not None:
            rows = await self._execute(statements.FENCE, _key(document.collection, document.id))
            if not rows or rows[0].fence != lease.fence:
                return lease_lost(document.collection, document.id)
        return document_conflict(document.collection, document.id)

    async def _execute(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Execute a statement. It returns no rows when its document is not found, or exists already."""
        try:
            return await self._database.run(lambda connection: connection.execute(statement, values).all())
        except IntegrityError:
            return []
        except (SQLAlchemyError, OSError) as error:
            reason = _reason_of(error)
            raise StoreError(f"{self!r} does not answer: {reason}. What was to be saved may be kept or not.") from error


def _reason_of(error: BaseException) -> BaseException:
    """Return the error of the driver, without what SQLAlchemy says around it."""
    driver_error = getattr(error, "orig", None) or error
    return driver_error.__cause__ or driver_error


def _key(collection: str, id: str) -> dict[str, object]:
    return {"of_collection": collection, "of_id": id}


def _held(lease: Lease) -> dict[str, object]:
    return {**_key(lease.collection, lease.id), "of_fence": lease.fence}


def _values(document: StoredDocument) -> dict[str, object]:
    check_document(document)
    return {
        "collection": document.collection,
        "id": document.id,
        "kind": document.kind,
        "name": document.name,
        "status": document.status,
        "parent_id": document.parent_id,
        "new_due_at": document.due_at,
        "is_closed": document.is_closed,
        "body": document.text,
    }


def _saved(document: StoredDocument, row: Row[Any]) -> StoredDocument:
    times = {"due_at": row.due_at, "created_at": row.created_at, "updated_at": row.updated_at}
    return replace(document, version=document.version + 1, **times)


def _document(row: Row[Any]) -> StoredDocument:
    if not (isinstance(row.version, int) and row.version > 0 and isinstance(row.body, str)):
        place = f"{row.collection}/{row.id}"
        raise StoredStateError(f"{place} cannot be read: its row is damaged; delete it, or restore it.")
    return StoredDocument(**{name: getattr(row, name) for name in statements.FIELDS})
