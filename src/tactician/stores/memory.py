"""Document store in the memory of this program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import count, islice
from threading import Lock
from typing import TYPE_CHECKING

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.stores.checks import (
    check_document,
    check_filters,
    check_step,
    check_texts,
    document_conflict,
    key_conflict,
    lease_lost,
    step_conflict,
)
from tactician.stores.document import AT_ONCE, Body, Lease, StoredDocument, StoredStep
from tactician.stores.document_store import DocumentStore
from tactician.stores.memory_entry import MemoryEntry
from tactician.stores.packing import TextPacker
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from tactician.stores.claim_order import ClaimOrder


@suggest_options
class MemoryStore(DocumentStore):
    """Documents in the memory of this program.

    Bodies stay objects while a document is worked on. When its lease is released and no worker may claim the document,
    such as a run that waits for somebody, its texts are compressed: there may be thousands of them.

    Args:
        time: time of the store, in seconds since the epoch; the time of the clock by default.
        clock: clock of the store, by which leases end and runs are due; the clock of the platform in tests.
    """

    keeps_objects = True

    def __init__(self, time: Callable[[], float] | None = None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self._entries: dict[str, dict[str, MemoryEntry]] = {}
        self._ids: dict[tuple[str, str], str] = {}  # by collection and key
        self._orders: dict[str, ClaimOrder] = {}  # by collection, of those that workers claim from
        self._numbers = count(1)
        self._packer = TextPacker()
        self._lock = (
            Lock()
        )  # leases are renewed from other threads, and each may have an event loop that uses the store
        self._time = clock.time if time is None else time

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        """Return a document, or `None`."""
        check_texts(id=id)
        with self._lock:
            entry = self._find_entry(collection, id)
            return None if entry is None else entry.read(self._time(), with_body=with_body)

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        """Store a document; see `DocumentStore.save`."""
        with self._lock:
            if lease is not None:
                self._check_lease(lease, may_be_released=True)
            return self._save(document)

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        """Store a document with a further step; see `DocumentStore.add_step`."""
        check_step(StoredStep(0, body))
        with self._lock:
            saved = self._save(replace(document, body=None))
            entry = self._entries[saved.collection][saved.id]
            entry.steps.append(StoredStep(len(entry.steps) + 1, body, saved.updated_at))
            return replace(saved, steps=len(entry.steps))

    async def fold(self, document: StoredDocument) -> StoredDocument:
        """Store a document with a body that has all of its log; see `DocumentStore.fold`."""
        with self._lock:
            saved = self._save(document)
            self._entries[saved.collection][saved.id].steps.clear()
            return replace(saved, steps=0)

    async def add_and_claim(
        self, document: StoredDocument, owner: str, seconds: float, step: StoredStep | None = None
    ) -> tuple[StoredDocument, Lease]:
        """Store a new document and claim it; see `DocumentStore.add_and_claim`."""
        check_texts(owner=owner)
        if step is not None:
            check_step(step)
        with self._lock:
            saved = self._save(replace(document, version=0))
            entry = self._entries[saved.collection][saved.id]
            if step is not None:
                entry.steps.append(replace(step, created_at=saved.updated_at))
            return saved, self._claim(entry, owner, seconds)

    async def delete(self, collection: str, id: str) -> bool:
        """Delete a document with its steps, and return whether it existed."""
        check_texts(id=id)
        with self._lock:
            entry = self._find_entry(collection, id)
            if entry is not None:
                self._delete(entry)
            return entry is not None

    async def prune(self, collection: str, seconds: float, *, statuses: Collection[str] = (), limit: int = 1000) -> int:
        """Delete the oldest closed documents; see `DocumentStore.prune`."""
        with self._lock:
            last = self._time() - seconds
            old = (
                entry
                for entry in self._entries.get(collection, {}).values()
                if entry.document.is_closed
                and entry.document.updated_at <= last
                and (not statuses or entry.document.status in statuses)
            )
            deleted = list(islice(old, limit))
            for entry in deleted:
                self._delete(entry)
            return len(deleted)

    async def append(self, lease: Lease, step: StoredStep) -> None:
        """Append a step to the log of the leased document; see `DocumentStore.append`."""
        check_step(step)
        with self._lock:
            entry = self._check_lease(lease, may_be_released=False)
            if entry.document.is_closed or step.number != len(entry.steps) + 1:
                raise step_conflict(lease, step, entry.document.is_closed)
            entry.steps.append(replace(step, created_at=self._time()))

    async def load_steps(
        self, collection: str, id: str, *, after: int = 0, until: int | None = None
    ) -> list[StoredStep]:
        """Return the steps of a document in order; see `DocumentStore.load_steps`."""
        check_texts(id=id)
        with self._lock:
            entry = self._find_entry(collection, id)
            return [] if entry is None else entry.steps[after:until]

    async def load_attachment(self, collection: str, id: str, name: str) -> bytes | None:
        """Return the content of a picture or file of a document; see `DocumentStore.load_attachment`."""
        with self._lock:
            entry = self._find_entry(collection, id)
            return None if entry is None else entry.find_attachment(name)

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
        with self._lock:
            now = self._time()
            entries = self._entries.get(collection, {}).values()
            matches = (
                entry.read(now, with_body=with_bodies)
                for entry in (reversed(entries) if newest_first else entries)
                if (after is None or (entry.number < after if newest_first else entry.number > after))
                and (not statuses or entry.document.status in statuses)
                and (not names or entry.document.name in names)
                and parent_id in (None, entry.document.parent_id)
                and key in (None, entry.document.key)
            )
            return list(islice(matches, limit))

    async def count_statuses(self, collection: str) -> dict[str, int]:
        """Return the number of documents of a collection with each status."""
        with self._lock:
            return dict(Counter(entry.document.status for entry in self._entries.get(collection, {}).values()))

    async def list_ids(self, collection: str) -> list[str]:
        """Return the ids of all documents of a collection, oldest first."""
        with self._lock:
            return list(self._entries.get(collection, {}))

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
            entry = self._find_claimable(collection, id, names, excluded_ids)
            if entry is None:
                return None
            lease = self._claim(entry, owner, seconds)
            return entry.read(self._time()), lease

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Extend a lease; see `DocumentStore.renew`."""
        with self._lock:
            entry = self._check_lease(lease, may_be_released=False)
            entry.lease = renewed = replace(
                lease, expires_at=self._time() + seconds, requested_at=self.clock.monotonic()
            )
            return renewed

    async def release(self, lease: Lease) -> None:
        """Release a lease, unless it is lost."""
        with self._lock:
            entry = self._find_entry(lease.collection, lease.id)
            if entry is None or entry.lease is None or entry.fence != lease.fence:
                return
            entry.lease = None
            self._put_in_order(entry)
            if not entry.document.is_closed and not entry.is_due(self._time()):
                entry.pack(self._packer)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _find_entry(self, collection: str, id: str) -> MemoryEntry | None:
        return self._entries.get(collection, {}).get(id)

    def _save(self, document: StoredDocument) -> StoredDocument:
        check_document(document)
        entry, now = self._find_entry(document.collection, document.id), self._time()
        stored = None if entry is None else entry.document
        if (0 if stored is None else stored.version) != document.version:
            raise document_conflict(document)
        self._take_key(document, stored)
        saved = replace(
            document,
            version=document.version + 1,
            due_at=_due_at(document, stored, now),
            created_at=now if stored is None else stored.created_at,
            updated_at=now,
        )
        if entry is None:
            entry = self._entries.setdefault(saved.collection, {})[saved.id] = MemoryEntry(saved, next(self._numbers))
        entry.write(saved)
        self._put_in_order(entry)
        return saved

    def _take_key(self, document: StoredDocument, stored: StoredDocument | None) -> None:
        """Give the document its key, unless another document has it."""
        collection, key = document.collection, document.key
        if key is not None and (holder := self._ids.get((collection, key), document.id)) != document.id:
            raise key_conflict(document, holder)
        if stored is not None and stored.key is not None:
            del self._ids[collection, stored.key]
        if key is not None:
            self._ids[collection, key] = document.id

    def _delete(self, entry: MemoryEntry) -> None:
        collection, key = entry.document.collection, entry.document.key
        del self._entries[collection][entry.document.id]
        if (order := self._orders.get(collection)) is not None:
            order.remove(entry)
        if key is not None:
            del self._ids[collection, key]

    def _claim(self, entry: MemoryEntry, owner: str, seconds: float) -> Lease:
        document = entry.document
        entry.fence += 1
        entry.lease = lease = Lease(
            document.collection, document.id, owner, entry.fence, self._time() + seconds, self.clock.monotonic()
        )
        return lease

    def _check_lease(self, lease: Lease, *, may_be_released: bool) -> MemoryEntry:
        entry = self._find_entry(lease.collection, lease.id)
        if entry is None or entry.fence != lease.fence or (entry.lease is None and not may_be_released):
            raise lease_lost(lease.collection, lease.id)
        return entry

    def _find_claimable(
        self, collection: str, id: str | None, names: Collection[str], excluded_ids: Collection[str]
    ) -> MemoryEntry | None:
        """Return the document that nobody holds: that with the id, or the first that is due."""
        now = self._time()
        if id is None:
            return self._find_order(collection).find_first(now, names, excluded_ids)
        entry = self._find_entry(collection, id)
        if entry is None or entry.document.is_closed or entry.is_leased(now) or id in excluded_ids:
            return None
        return entry if not names or entry.document.name in names else None

    def _find_order(self, collection: str) -> ClaimOrder:
        """Return the order of a collection, which is made when a worker first asks for a document of it."""
        if (order := self._orders.get(collection)) is None:
            from tactician.stores.claim_order import ClaimOrder

            order = self._orders[collection] = ClaimOrder()
            for entry in self._entries.get(collection, {}).values():
                order.put(entry)
        return order

    def _put_in_order(self, entry: MemoryEntry) -> None:
        if (order := self._orders.get(entry.document.collection)) is not None:
            order.put(entry)


def _due_at(document: StoredDocument, stored: StoredDocument | None, now: float) -> float | None:
    """Return when the document is due. A document that was due before keeps its place in the queue."""
    if document.due_at != AT_ONCE:
        return document.due_at
    before = None if stored is None else stored.due_at
    return now if before is None else min(before, now)
