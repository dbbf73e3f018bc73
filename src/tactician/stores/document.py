"""Versioned documents, leases, and the contract of a store."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from pydantic_core import PydanticSerializationError

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError

AT_ONCE: Final = 0.0
"""The `due_at` of a document that may be claimed now: the store replaces it by its own time."""


class SupportsJson(Protocol):
    """Object with a JSON form."""

    def to_json(self) -> str:
        """Return the object as JSON text."""
        ...


Body: TypeAlias = str | SupportsJson


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """Version of a document, as it is to be stored or was loaded.

    Attributes:
        collection: namespace of the id, such as `"runs"`.
        id: unique within the collection.
        body: content. A database stores its text; a store in memory keeps the object, which must not change any more.
        version: number of saves; 0 for a document that is not stored.
        kind: kind of document within the collection.
        name: name to find and claim documents by.
        status: status to find documents by.
        parent_id: id of the document that this one belongs to.
        due_at: seconds since the epoch, by the store's clock, from which any worker may claim the document: `AT_ONCE`,
            or `None` for a document that is claimed by its id only.
        is_closed: true for a document that can no longer be claimed.
        created_at: time of the first save, set by the store.
        updated_at: time of the last save, set by the store.
    """

    collection: str
    id: str
    body: Body
    version: int = 0
    kind: str = ""
    name: str = ""
    status: str = ""
    parent_id: str | None = None
    due_at: float | None = None
    is_closed: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body if isinstance(self.body, str) else self.body.to_json()


@dataclass(frozen=True, slots=True)
class Lease:
    """Exclusive right to change a document for some time. `fence` is a monotonically increasing fencing token."""

    collection: str
    id: str
    owner: str
    fence: int
    expires_at: float


class DocumentStore(Protocol):
    """Store of versioned documents. The clock of the store decides about leases and due times.

    Every method raises a `StoreError` when the store does not answer, and a `StoredStateError` for a text that cannot
    be stored: one with a NUL character or half of a surrogate pair.
    """

    async def load(self, collection: str, id: str) -> StoredDocument | None:
        """Return a document, or `None`."""
        ...

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document whose version is still the stored one, and return it with its new version and times.

        Raises:
            DocumentConflictError: when the stored version is another one.
            LeaseLostError: when the lease is not the newest one of the document.
        """
        ...

    async def add_and_claim(self, document: StoredDocument, owner: str, seconds: float) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it in one step.

        Raises:
            DocumentConflictError: when the document exists.
        """
        ...

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document, and return whether it existed."""
        ...

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
        ...

    async def list_ids(self, collection: str) -> list[str]:
        """Return the ids of all documents of a collection, oldest first."""
        ...

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
        """Claim the document with the id, or else the one that has been due for longest, unless its lease is held.

        Args:
            owner: name of the claimer.
            seconds: duration of the lease.
            id: id of the document; any document that is due, by default.
            names: names that the document may have; any by default.
            excluded_ids: ids of documents not to claim.
        """
        ...

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease. Event loops of several threads may call this at the same time.

        Raises:
            LeaseLostError: when the lease was released, or another worker has claimed the document.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Release a lease, unless it is lost."""
        ...

    async def aclose(self) -> None:
        """Close the connections. The store opens new ones when it is used again."""
        ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def document_conflict(collection: str, id: str) -> DocumentConflictError:
    """Return the error of a save that came too late."""
    return DocumentConflictError(f"{collection}/{id} has been changed by somebody else: load it again.")


def lease_lost(collection: str, id: str) -> LeaseLostError:
    """Return the error of a worker whose lease is no longer the newest one."""
    return LeaseLostError(f"{collection}/{id} has been taken by another worker.")


def check_document(document: StoredDocument) -> None:
    """Check that every store can keep the texts of a document; see `check_texts`."""
    parts = {"id": document.id, "name": document.name, "status": document.status, "parent_id": document.parent_id}
    check_texts(**parts, body=document.body if isinstance(document.body, str) else None)


def check_texts(**texts: str | None) -> None:
    """Check that every store can keep some texts.

    Raises:
        StoredStateError: when one has a NUL character or half of a surrogate pair.
    """
    for name, text in texts.items():
        if text is not None and (place := _find_invalid(text)) >= 0:
            raise StoredStateError(
                f"The {name} cannot be stored: its character {place} is not valid: U+{ord(text[place]):04X}. Remove it."
            )


@contextmanager
def translate_json_errors(subject: str) -> Iterator[None]:
    """Name what cannot be stored when the block fails to write it as JSON, such as half of a surrogate pair.

    Raises:
        StoredStateError: when it does.
    """
    try:
        yield
    except PydanticSerializationError as error:
        raise StoredStateError(f"{subject} cannot be stored: {error}") from error


def _find_invalid(text: str) -> int:
    """Return the place of the first character that no database has, or -1."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return error.start
    return text.find("\0")
