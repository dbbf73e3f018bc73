"""StoredDocument store in the memory of this program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import islice
from threading import Lock
from time import time

from tactician.stores.document import (
    AT_ONCE,
    DocumentStore,
    Lease,
    StoredDocument,
    check_document,
    check_texts,
    document_conflict,
    lease_lost,
)


class MemoryStore(DocumentStore):
    """Documents in the memory of this program.

    Args:
        time: clock of the store, in seconds since the epoch.
    """

    def __init__(self, time: Callable[[], float] = time) -> None:
        self._documents: dict[str, dict[str, StoredDocument]] = {}
        self._leases: dict[tuple[str, str], Lease] = {}
        self._lock = Lock()  # leases are renewed from other threads
        self._time = time

    def __len__(self) -> int:
        return sum(map(len, self._documents.values()))

    async def load(self, collection: str, id: str) -> StoredDocument | None:
        """Return a document, or `None`."""
        check_texts(id=id)
        return self._documents.get(collection, {}).get(id)

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document; see `DocumentStore.save`."""
        with self._lock:
            if lease is not None:
                self._check_lease(lease)
            return self._save(document)

    async def add_and_claim(self, document: StoredDocument, owner: str, seconds: float) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it; see `DocumentStore.add_and_claim`."""
        check_texts(owner=owner)
        with self._lock:
            return self._save(replace(document, version=0)), self._lease(document, owner, seconds)

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document, and return whether it existed."""
        check_texts(id=id)
        with self._lock:
            self._leases.pop((collection, id), None)
            return self._documents.get(collection, {}).pop(id, None) is not None

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
        found = (
            document
            for document in self._documents.get(collection, {}).values()
            if (not statuses or document.status in statuses)
            and (not names or document.name in names)
            and parent_id in (None, document.parent_id)
        )
        return list(islice(found, limit))

    async def list_ids(self, collection: str) -> list[str]:
        """Return the ids of all documents of a collection, oldest first."""
        return list(self._documents.get(collection, {}))

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
        with self._lock:
            claimable = (
                document
                for document in self._claimable(collection, id)
                if document.id not in excluded_ids and (not names or document.name in names)
            )
            document = min(claimable, key=lambda document: document.due_at or 0.0, default=None)
            return None if document is None else (document, self._lease(document, owner, seconds))

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease; see `DocumentStore.renew`."""
        with self._lock:
            if not self._check_lease(lease).expires_at:
                raise lease_lost(lease.collection, lease.id)
            renewed = replace(lease, expires_at=self._time() + seconds)
            self._leases[lease.collection, lease.id] = renewed
            return renewed

    async def release(self, lease: Lease) -> None:
        """Release a lease, unless it is lost."""
        key = lease.collection, lease.id
        with self._lock:
            held = self._leases.get(key)
            if held is not None and held.fence == lease.fence:
                self._leases[key] = replace(held, expires_at=0.0)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _save(self, document: StoredDocument) -> StoredDocument:
        collection = self._documents.setdefault(document.collection, {})
        stored, now = collection.get(document.id), self._time()
        if (0 if stored is None else stored.version) != document.version:
            raise document_conflict(document.collection, document.id)
        check_document(document)
        saved = collection[document.id] = replace(
            document,
            version=document.version + 1,
            due_at=_due_at(document, stored, now),
            created_at=now if stored is None else stored.created_at,
            updated_at=now,
        )
        return saved

    def _lease(self, document: StoredDocument, owner: str, seconds: float) -> Lease:
        key = document.collection, document.id
        fence = self._leases[key].fence + 1 if key in self._leases else 1
        lease = self._leases[key] = Lease(*key, owner, fence, self._time() + seconds)
        return lease

    def _check_lease(self, lease: Lease) -> Lease:
        held = self._leases.get((lease.collection, lease.id))
        if held is None or held.fence != lease.fence:
            raise lease_lost(lease.collection, lease.id)
        return held

    def _claimable(self, collection: str, id: str | None) -> Iterator[StoredDocument]:
        """Yield the documents that nobody holds: the one with the id, or those that are due."""
        documents, now = self._documents.get(collection, {}), self._time()
        wanted = documents.values() if id is None else [documents[id]] if id in documents else ()
        for document in wanted:
            held = self._leases.get((collection, document.id))
            is_due = id is not None or (document.due_at is not None and document.due_at <= now)
            if is_due and not document.is_closed and (held is None or held.expires_at <= now):
                yield document


def _due_at(document: StoredDocument, stored: StoredDocument | None, now: float) -> float | None:
    """Return when the document is due. One that was due before keeps its place in the queue."""
    if document.due_at != AT_ONCE:
        return document.due_at
    before = None if stored is None else stored.due_at
    return now if before is None else min(before, now)
