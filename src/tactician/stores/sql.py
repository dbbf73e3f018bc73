"""Document store in a database, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import Connection, Executable, Insert, Row, Update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tactician.cancellation import run_or_undo
from tactician.errors import DocumentConflictError, LeaseLostError, StoreError
from tactician.stores import statements
from tactician.stores.attachment_rows import delete_unused_attachments, load_attachments
from tactician.stores.attachments import extract_attachments, find_attachments, restore_attachments
from tactician.stores.checks import (
    check_filters,
    check_step,
    check_texts,
    document_conflict,
    key_conflict,
    lease_lost,
    step_conflict,
)
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep
from tactician.stores.document_store import DocumentStore
from tactician.stores.document_writes import LogChange, append_step, delete_document, write_document
from tactician.stores.rows import (
    document_values,
    key_values,
    lease_values,
    parse_document,
    parse_step,
    update_document,
)

T = TypeVar("T")
R = TypeVar("R")
_NO_ATTACHMENTS: Final[Mapping[str, bytes]] = MappingProxyType({})


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

    keeps_objects = False

    def __init__(self, database: Database, address: str) -> None:
        self._database = database
        self._address = address

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address!r})"

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        """Return a document, or `None`."""
        check_texts(id=id)
        statement = statements.LOAD if with_body else statements.LOAD_BODILESS
        rows = await self._execute(statement, key_values(collection, id))
        return await self._restore(parse_document(rows[0])) if rows else None

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document; see `DocumentStore.save`."""
        values = document_values(document)
        if lease is not None:
            rows = await self._write(statements.SAVE_HELD, values | {"of_fence": lease.fence})
        else:
            rows = await self._write(statements.SAVE if document.version else statements.ADD, values)
        if not rows:
            raise await self._save_refusal(document, lease)
        return update_document(document, rows[0])

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        """Store a document with a further step; see `DocumentStore.add_step`."""
        document, step = replace(document, body=None), StoredStep(document.steps + 1, body)
        rows = await self._write_with_step(statements.SAVE, document_values(document), step)
        return replace(await self._update(document, rows), steps=step.number)

    async def fold(self, document: StoredDocument) -> StoredDocument:
        """Store a document with a body that has all of its log; see `DocumentStore.fold`."""
        rows = await self._write(statements.SAVE, document_values(document), LogChange.CLEAR)
        return replace(await self._update(document, rows), steps=0)

    async def add_and_claim(
        self, document: StoredDocument, owner: str, seconds: float, step: StoredStep | None = None
    ) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it; see `DocumentStore.add_and_claim`."""
        check_texts(owner=owner)
        document, requested_at = replace(document, version=0), self.clock.monotonic()
        values = document_values(document) | {"by": owner, "seconds": seconds}
        rows = await self._write_with_step(statements.ADD_AND_CLAIM, values, step)
        if not rows:
            raise await self._save_refusal(document, None)
        lease = Lease(document.collection, document.id, owner, rows[0].fence, rows[0].expires_at, requested_at)
        return update_document(document, rows[0]), lease

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document, and return whether it existed."""
        check_texts(id=id)
        key = key_values(collection, id)
        return bool(await self._run(lambda connection: delete_document(connection, key)))

    async def prune(self, collection: str, seconds: float, *, statuses: Collection[str] = (), limit: int = 1000) -> int:
        """Delete the oldest closed documents; see `DocumentStore.prune`."""
        pruned = await self._execute(statements.prune(collection, seconds, statuses, limit), {})
        if pruned:
            await self._run(_delete_unused)
        return len(pruned)

    async def append(self, lease: Lease, step: StoredStep) -> None:
        """Append a step to the log of the leased document; see `DocumentStore.append`."""
        check_step(step)
        text, attachments = extract_attachments(step.text)
        values = lease_values(lease) | {"new_number": step.number, "new_body": text}
        if not await self._run(lambda connection: append_step(connection, values, attachments)):
            raise await self._append_refusal(lease, step)

    async def rest(self, document: StoredDocument, lease: Lease, step: StoredStep) -> StoredDocument:
        """Append a step, store the document and release the lease; see `DocumentStore.rest`."""
        values = document_values(document) | {"of_fence": lease.fence, "new_number": step.number}
        rows = await self._write_with_step(statements.REST, values, step)
        if not rows:
            raise await self._rest_refusal(document, lease, step)
        return update_document(document, rows[0])

    async def load_steps(
        self, collection: str, id: str, *, after: int = 0, until: int | None = None
    ) -> list[StoredStep]:
        """Return the steps of a document in order; see `DocumentStore.load_steps`."""
        check_texts(id=id)
        statement = statements.LOAD_STEPS if until is None else statements.LOAD_STEPS_UNTIL
        rows = await self._execute(statement, key_values(collection, id) | {"after": after, "until": until})
        steps = [parse_step(f"{collection}/{id}", row) for row in rows]
        texts = await self._restore_texts(collection, id, [step.text for step in steps])
        return [replace(step, body=text) for step, text in zip(steps, texts, strict=True)] if texts else steps

    async def load_attachment(self, collection: str, id: str, name: str) -> bytes | None:
        """Return the content of a picture or file of a document; see `DocumentStore.load_attachment`."""
        check_texts(id=id, name=name)
        key = key_values(collection, id)
        rows = await self._run(lambda connection: load_attachments(connection, key, [name]))
        return rows[0][1] if rows else None

    async def find(
        self,
        collection: str,
        *,
        statuses: Collection[str] = (),
        names: Collection[str] = (),
        parent_id: str | None = None,
        key: str | None = None,
        limit: int = 1000,
        with_bodies: bool = True,
        newest_first: bool = False,
        after: int | None = None,
    ) -> list[StoredDocument]:
        """Return the documents that match every filter; see `DocumentStore.find`."""
        check_filters(statuses, names, parent_id, key)
        query = statements.find(
            collection,
            statuses,
            names,
            parent_id,
            key,
            limit,
            with_bodies=with_bodies,
            newest_first=newest_first,
            after=after,
        )
        documents = [parse_document(row) for row in await self._execute(query, {})]
        return [await self._restore(document) for document in documents] if with_bodies else documents

    async def count_statuses(self, collection: str) -> dict[str, int]:
        """Return the number of documents of a collection with each status."""
        rows = await self._execute(statements.COUNT_STATUSES, {"of_collection": collection})
        return {row.status: row.found for row in rows}

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
        parameters = {
            "of_collection": collection,
            "of_id": id,
            "names": list(names),
            "excluded_ids": list(excluded_ids),
        }
        work = self._claim(statement, parameters | {"by": owner, "seconds": seconds}, self.clock.monotonic())
        return await run_or_undo(work, self._undo_claim)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease; see `DocumentStore.renew`."""
        requested_at = self.clock.monotonic()
        rows = await self._execute(statements.RENEW, lease_values(lease) | {"seconds": seconds})
        if not rows:
            raise lease_lost(lease.collection, lease.id)
        return replace(lease, expires_at=rows[0].expires_at, requested_at=requested_at)

    async def release(self, lease: Lease) -> None:
        """Release a lease, unless it is lost."""
        await self._execute(statements.RELEASE, lease_values(lease))

    async def aclose(self) -> None:
        """Close the connections. The store opens new ones when it is used again."""
        await self._database.aclose()

    async def _claim(
        self, statement: Update, values: Mapping[str, Any], requested_at: float
    ) -> tuple[StoredDocument, Lease] | None:
        rows = await self._run(lambda connection: _claim(connection, statement, values))
        if not rows:
            return None
        claimed, loaded = rows
        document = parse_document(loaded)
        lease = Lease(document.collection, document.id, values["by"], claimed.fence, claimed.expires_at, requested_at)
        return await self._restore(document), lease

    async def _undo_claim(self, claimed: tuple[StoredDocument, Lease] | None) -> None:
        if claimed is not None:
            with suppress(StoreError):  # it expires
                await self.release(claimed[1])

    async def _update(self, document: StoredDocument, rows: Sequence[Row[Any]]) -> StoredDocument:
        """Return a document that was saved, from the rows of the write."""
        if not rows:
            raise await self._save_refusal(document, None)
        return update_document(document, rows[0])

    async def _save_refusal(
        self, document: StoredDocument, lease: Lease | None
    ) -> DocumentConflictError | LeaseLostError:
        if lease is not None:
            rows = await self._execute(statements.FENCE, key_values(document.collection, document.id))
            if not rows or rows[0].fence != lease.fence:
                return lease_lost(document.collection, document.id)
        if document.key is not None:
            for other in await self.find(document.collection, key=document.key, with_bodies=False):
                if other.id != document.id:
                    return key_conflict(document, other.id)
        return document_conflict(document)

    async def _rest_refusal(
        self, document: StoredDocument, lease: Lease, step: StoredStep
    ) -> DocumentConflictError | LeaseLostError:
        refusal = await self._append_refusal(lease, step)
        stored = await self.load(document.collection, document.id, with_body=False)
        is_changed = stored is not None and not stored.is_closed and stored.version != document.version
        return document_conflict(document) if is_changed and not isinstance(refusal, LeaseLostError) else refusal

    async def _append_refusal(self, lease: Lease, step: StoredStep) -> DocumentConflictError | LeaseLostError:
        rows = await self._execute(statements.FENCE, key_values(lease.collection, lease.id))
        if not rows or rows[0].fence != lease.fence or not rows[0].expires_at:
            return lease_lost(lease.collection, lease.id)
        return step_conflict(lease, step, rows[0].is_closed)

    async def _write(
        self,
        statement: Insert | Update,
        values: Mapping[str, object],
        log: LogChange = LogChange.NONE,
        attachments: Mapping[str, bytes] = _NO_ATTACHMENTS,
    ) -> Sequence[Row[Any]]:
        """Write a document, and its log with some attachments."""
        body = values["new_body"]
        if isinstance(body, str):
            text, of_body = extract_attachments(body)
            values, attachments = {**values, "new_body": text}, {**attachments, **of_body}
        return await self._run(lambda connection: write_document(connection, statement, values, log, attachments))

    async def _write_with_step(
        self, statement: Insert | Update, values: Mapping[str, object], step: StoredStep | None
    ) -> Sequence[Row[Any]]:
        """Write a document together with the next step of its log."""
        if step is None:
            return await self._write(statement, values)
        check_step(step)
        text, attachments = extract_attachments(step.text)
        return await self._write(statement, {**values, "new_step": text}, LogChange.ADD, attachments)

    async def _restore(self, document: StoredDocument) -> StoredDocument:
        """Return a document with the attachments of its body."""
        if document.body is None:
            return document
        texts = await self._restore_texts(document.collection, document.id, [document.text])
        return replace(document, body=texts[0]) if texts else document

    async def _restore_texts(self, collection: str, id: str, texts: Sequence[str]) -> list[str]:
        """Return texts of a document with their attachments; nothing when they have none."""
        names = frozenset[str]().union(*map(find_attachments, texts))
        if not names:
            return []
        key = key_values(collection, id)
        contents = dict(await self._run(lambda connection: load_attachments(connection, key, names)))
        return [restore_attachments(text, contents) for text in texts]

    async def _execute(self, statement: Executable, values: Mapping[str, object]) -> Sequence[Row[Any]]:
        """Execute a statement. It returns no rows when its document is missing, or exists already."""
        return await self._run(lambda connection: connection.execute(statement, values).all())

    async def _run(self, work: Callable[[Connection], Sequence[R]]) -> Sequence[R]:
        """Run a function with a connection. It returns no rows when a document or a step exists already."""
        try:
            return await self._database.run(work)
        except IntegrityError:
            return []
        except (SQLAlchemyError, OSError) as error:
            reason = _reason_of(error)
            raise StoreError(f"{self!r} does not answer: {reason}. What was to be saved may be kept or not.") from error


def _claim(connection: Connection, claim: Update, values: Mapping[str, object]) -> Sequence[Row[Any]]:
    """Claim a document and load it: two rows, or none."""
    # PostgreSQL would read the body as it was before the claim waited for somebody who changed it.
    claimed = connection.execute(claim, values).one_or_none()
    if claimed is None:
        return []
    loaded = connection.execute(statements.LOAD, {**values, "of_id": claimed.of_id}).one_or_none()
    return [] if loaded is None else [claimed, loaded]


def _delete_unused(connection: Connection) -> Sequence[Row[Any]]:
    delete_unused_attachments(connection)
    return []


def _reason_of(error: BaseException) -> BaseException:
    """Return the error of the driver, without what SQLAlchemy says around it."""
    driver_error = getattr(error, "orig", None) or error
    return driver_error.__cause__ or driver_error
