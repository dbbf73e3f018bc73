"""Transport over a document store: SQLite or PostgreSQL is the broker, so that there is nothing to install."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from tactician.clock import SYSTEM_CLOCK, Timeout
from tactician.errors import DocumentConflictError, LeaseLostError, StoreError
from tactician.events.event import new_id
from tactician.mesh.transports.signals import Signals
from tactician.mesh.transports.transport import LeasedMessage, Transport, TransportError, keep_trying, match_topic
from tactician.stores import DocumentStore
from tactician.stores.document import AT_ONCE, Lease, StoredDocument

_QUEUE: Final = "mesh-queue/"
"""Beginning of the collection of a queue. Each has its own, so that a claim does not pass over what waits in others."""
_TOPICS: Final = "mesh-topic"
_CLAIMS: Final = "mesh-claim"
_PUBLISHED_FOR: Final = 3600.0
"""Seconds for which the store keeps what was published."""
_PRUNE_EVERY: Final = 200
_PRUNE_LEASE: Final = 5.0
_RETRIES: Final = 15


class StoreTransport(Transport):
    """Transport over a document store.

    Args:
        store: the store.
        signals: signals of other programs, so that a message is received at once.
        label: kind and address, without credentials.
    """

    has_topics = True
    has_claims = True

    def __init__(self, store: DocumentStore, signals: Signals, label: str) -> None:
        self.label = label
        self._store = store
        self._signals = signals
        self._owner = f"mesh-{new_id()}"
        self._published = 0
        self._claimed = 0

    async def open(self) -> None:
        """Open the connection for signals."""
        try:
            await self._store.count_statuses(_TOPICS)
            await self._signals.open()
        except (StoreError, OSError) as error:
            raise self._explain(error) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._signals.aclose()
        await self._store.aclose()

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue."""
        await self.add(queue, body, new_id())

    async def add(self, queue: str, body: bytes, id: str) -> None:
        """Put a message with an id into a queue, unless it is there already."""
        document = StoredDocument(collection=_QUEUE + queue, id=id, name=queue, body=_encode(body), due_at=AT_ONCE)
        await self._retry(partial(self._add, document))
        await self._signal(queue)

    async def _add(self, document: StoredDocument) -> None:
        with suppress(DocumentConflictError):
            await self._store.save(document)

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time."""
        taken: list[LeasedMessage] = []
        with self._signals.listen(queue) as signal:
            ends_at, pause = SYSTEM_CLOCK.monotonic() + wait, self._signals.first_poll
            while True:
                while len(taken) < limit and (message := await self._claim(queue, lease)) is not None:
                    taken.append(message)
                now = SYSTEM_CLOCK.monotonic()
                if taken or now >= ends_at:
                    return taken
                await self._signals.wait(signal, min(pause, ends_at - now))
                pause = min(pause * 2, self._signals.longest_poll)

    async def _claim(self, queue: str, lease: float) -> LeasedMessage | None:
        try:
            claimed = await self._store.claim(_QUEUE + queue, self._owner, lease)
        except StoreError as error:
            raise self._explain(error) from error
        if claimed is None:
            return None
        document, held = claimed
        return LeasedMessage(queue, b64decode(document.text), held.fence, (document, held))

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        document, _ = _read_receipt(message)
        await self._retry(partial(self._store.delete, document.collection, document.id))

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        document, lease = _read_receipt(message)
        due_at = AT_ONCE if delay <= 0 else SYSTEM_CLOCK.time() + delay
        try:
            if delay > 0:
                await self._store.save(replace(document, due_at=due_at), lease)
            await self._store.release(lease)
        except (LeaseLostError, DocumentConflictError):
            return  # somebody else has it already
        except StoreError as error:
            raise self._explain(error) from error
        await self._signal(message.queue)

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message."""
        _, lease = _read_receipt(message)
        try:
            await self._store.renew(lease, seconds)
        except (StoreError, LeaseLostError) as error:
            raise self._explain(error) from error

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        document = StoredDocument(collection=_TOPICS, id=new_id(), name=topic, body=_encode(body), is_closed=True)
        await self._save(document)
        self._published += 1
        if self._published % _PRUNE_EVERY == 1:
            await self._store.prune(_TOPICS, _PUBLISHED_FOR)
        await self._signal(_TOPICS)

    @asynccontextmanager
    async def subscribe(self, pattern: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics."""
        with self._signals.listen(_TOPICS) as signal:
            try:
                newest = await self._store.find(_TOPICS, limit=1, newest_first=True, with_bodies=False)
            except StoreError as error:
                raise self._explain(error) from error
            yield self._read_topics(pattern, newest[0].number if newest else 0, signal)

    async def _read_topics(self, pattern: str, after: int, signal: asyncio.Event) -> AsyncIterator[bytes]:
        pause = self._signals.first_poll
        while True:
            published = await keep_trying(partial(self._store.find, _TOPICS, after=after), (StoreError,), self.label)
            for document in published:
                after = document.number
                if match_topic(pattern, document.name):
                    yield b64decode(document.text)
            if not published:
                await self._signals.wait(signal, pause)
            pause = self._signals.first_poll if published else min(pause * 2, self._signals.longest_poll)

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for some time."""
        document = StoredDocument(collection=_CLAIMS, id=key, body="", due_at=AT_ONCE)
        try:
            try:
                await self._store.add_and_claim(document, self._owner, seconds)
            except DocumentConflictError:
                return await self._store.claim(_CLAIMS, self._owner, seconds, id=key) is not None
        except StoreError as error:
            raise self._explain(error) from error
        self._claimed += 1
        if self._claimed % _PRUNE_EVERY == 0:
            await self._prune_claims()
        return True

    async def _prune_claims(self) -> None:
        """Delete claims that have ended; a claim by any id finds only those."""
        with suppress(StoreError):  # the next time
            for _ in range(2 * _PRUNE_EVERY):
                if (ended := await self._store.claim(_CLAIMS, self._owner, _PRUNE_LEASE)) is None:
                    return
                await self._store.delete(_CLAIMS, ended[0].id)

    async def _retry(self, operation: Callable[[], Awaitable[object]]) -> None:
        """Do what may be done twice, and do it again while the server restarts."""
        for attempt in range(1, _RETRIES + 1):
            try:
                await operation()
            except StoreError as error:
                if attempt == _RETRIES:
                    raise self._explain(error) from error
                await SYSTEM_CLOCK.sleep(min(0.05 * 2**attempt, 1.0))
            else:
                return

    async def _save(self, document: StoredDocument) -> None:
        try:
            await self._store.save(document)
        except StoreError as error:
            raise self._explain(error) from error

    async def _signal(self, queue: str) -> None:
        try:
            with Timeout(1.0, SYSTEM_CLOCK):
                await self._signals.send(queue)
        except (OSError, TimeoutError):
            return  # the receiver looks again by itself

    def _explain(self, error: Exception) -> TransportError:
        return TransportError(f"{self.label} does not answer: {error}")


def _encode(body: bytes) -> str:
    return b64encode(body).decode()


def _read_receipt(message: LeasedMessage) -> tuple[StoredDocument, Lease]:
    receipt = message.receipt
    assert isinstance(receipt, tuple)
    return receipt
