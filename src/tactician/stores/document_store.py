"""Contract of a store of documents."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Protocol, Self

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep


class DocumentStore(Protocol):
    """Store of versioned documents, each with a log of steps.

    The clock of the store decides about leases and due times. Every method raises a `StoreError` when the store does
    not answer, and a `StoredStateError` for a text that cannot be stored: with a NUL character or half of a
    surrogate pair.
    """

    keeps_objects: bool
    """True for a store that takes bodies as objects, and keeps them while a document is worked on; others keep text."""
    clock: Clock = SYSTEM_CLOCK
    """Clock by which leases are renewed: real time, unless the store itself follows another clock."""

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        """Return a document, or `None`. Without its body, a long document is read as fast as a short document."""
        ...

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document whose version is still the stored version, and return it with its new version and times.

        Raises:
            DocumentConflictError: when the stored version differs, or another document has the key.
            LeaseLostError: when the lease is not the newest of the document.
        """
        ...

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        """Store a document without its body, as `save` does, and append a step to its log in the same write.

        Nobody needs a lease for this: each step makes a new version. The log of a document is written in this way or
        with `append`, never in both.

        Raises:
            DocumentConflictError: when the stored version differs.
        """
        ...

    async def fold(self, document: StoredDocument) -> StoredDocument:
        """Store a document as `save` does, with a body that has all of its log, and delete its steps.

        Raises:
            DocumentConflictError: when the stored version differs.
        """
        ...

    async def add_and_claim(
        self, document: StoredDocument, owner: str, seconds: float, step: StoredStep | None = None
    ) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it in a single write, with the first step of its log.

        Args:
            document: the document.
            owner: name of the claimer.
            seconds: duration of the lease.
            step: the first step; `None` for a log without steps.

        Raises:
            DocumentConflictError: when the document exists, or another document has the key.
        """
        ...

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document with its steps, and return whether it existed."""
        ...

    async def prune(self, collection: str, seconds: float, *, statuses: Collection[str] = (), limit: int = 1000) -> int:
        """Delete the oldest closed documents that were last saved so many seconds ago or earlier, with their steps.

        Args:
            collection: collection of the documents.
            seconds: age of the last save.
            statuses: statuses that the documents may have; any by default.
            limit: number of documents to delete at most.

        Returns:
            Number of documents that were deleted.
        """
        ...

    async def append(self, lease: Lease, step: StoredStep) -> None:
        """Append a step to the log of the leased document.

        Raises:
            LeaseLostError: when the lease was released, or another worker has claimed the document.
            DocumentConflictError: when the document is closed, or the step is not the next.
        """
        ...

    async def rest(self, document: StoredDocument, lease: Lease, step: StoredStep) -> StoredDocument:
        """Append a step to the log of the leased document, store the document, and release the lease: in one write.

        A store that cannot do so at once does it in this order, so that what was saved last is never behind its log.

        Raises:
            LeaseLostError: when the lease was released, or another worker has claimed the document.
            DocumentConflictError: when the stored version differs, the document is closed, or the step is not the next.
        """
        await self.append(lease, step)
        saved = await self.save(document, lease)
        await self.release(lease)
        return saved

    async def load_steps(
        self, collection: str, id: str, *, after: int = 0, until: int | None = None
    ) -> list[StoredStep]:
        """Return the steps of a document in order.

        Args:
            collection: collection of the document.
            id: id of the document.
            after: number of the step before the first; from the beginning by default.
            until: number of the last; to the end by default.
        """
        ...

    async def load_attachment(self, collection: str, id: str, name: str) -> bytes | None:
        """Return the content of a picture or file that the body or a step of a document has, or `None`.

        Args:
            collection: collection of the document.
            id: id of the document.
            name: the SHA-256 hash of the content.
        """
        ...

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
        """Return the documents that match every filter: the oldest first, or the newest.

        Args:
            collection: collection of the documents.
            statuses: statuses that they may have; any by default.
            names: names that they may have; any by default.
            parent_id: id of the document that they belong to.
            key: idempotency key.
            limit: number of documents at most.
            with_bodies: false to read them without their bodies.
            newest_first: true for the newest first.
            after: number of the document before the first, in this order; from the beginning by default.
        """
        ...

    async def count_statuses(self, collection: str) -> dict[str, int]:
        """Return the number of documents of a collection with each status."""
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
        """Claim a document whose lease nobody holds: that with the id, or else the first that is due.

        Of those that are due, the first has the highest priority and has been due for longest: a point of priority
        weighs as much as `PRIORITY_AGEING` seconds. A claim that is cancelled leaves no lease.

        Args:
            collection: collection of the document.
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
