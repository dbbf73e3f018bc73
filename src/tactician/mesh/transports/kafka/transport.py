"""Transport over Kafka, with the leases of messages in a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, cast
from zlib import crc32

from confluent_kafka import Message

from tactician.clock import SYSTEM_CLOCK
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.mesh.transports.documents import StoreTransport
from tactician.mesh.transports.kafka.options import PRIVATE_QUEUES, TOPICS, name_queue, read_options
from tactician.mesh.transports.kafka.reader import KafkaReader
from tactician.mesh.transports.kafka.sender import KafkaSender
from tactician.mesh.transports.memory import MemoryBroker
from tactician.mesh.transports.signals import LocalSignals
from tactician.mesh.transports.transport import PRIVATE, LeasedMessage, Transport, match_topic, read_queue
from tactician.stores import DocumentStore

_ID: Final = "id"
_PARTITIONS: Final = 16
_LONGEST_ID: Final = 100


class KafkaTransport(Transport):
    """Transport over Kafka. A queue is a topic of Kafka, which the instances of a node read as a group.

    Kafka has no lease for a single message, so an instance that reads a message moves it into the store, where all
    instances of the node take it from; then the place of the group moves on.

    Args:
        url: address of the brokers; see `read_options`.
        store: store that the instances of a node share.
        label: the address without credentials.
    """

    has_topics = True
    has_claims = True

    def __init__(self, url: str, store: DocumentStore | None, label: str) -> None:
        self.label = label
        self._options = read_options(url)
        self._sender = KafkaSender(self._options, label)
        self._broker = MemoryBroker()
        self._leases: StoreTransport | None = None
        self._signals = LocalSignals(f"kafka-{new_id()}")
        self._readers: dict[str, KafkaReader] = {}
        self._opening = asyncio.Lock()
        if store is not None:
            self.use_store(store)

    def use_store(self, store: DocumentStore) -> None:
        """Keep the leases in a store, unless there is one already."""
        if self._leases is None:
            self._leases = StoreTransport(store, self._signals, self.label)

    async def open(self) -> None:
        """Connect."""
        await self._sender.open()
        await self._signals.open()

    async def aclose(self) -> None:
        """Close all connections, but not the store."""
        readers, self._readers = [*self._readers.values()], {}
        await asyncio.gather(*(reader.stop() for reader in readers))
        await self._signals.aclose()
        await self._sender.aclose()

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue."""
        if queue.startswith(PRIVATE):
            partition = await self._find_partition(queue)
            await self._sender.send(PRIVATE_QUEUES, body, key=queue, partition=partition)
        else:
            topic = name_queue(queue)
            await self._sender.find_partitions(topic)
            await self._sender.send(topic, body, headers={_ID: new_id().encode()})

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time."""
        if queue.startswith(PRIVATE):
            local = self._broker.find_queue(queue)
            await self._read(queue, PRIVATE_QUEUES, self._take_private, [await self._find_partition(queue)])
            return await local.receive(limit, lease, wait, SYSTEM_CLOCK)
        leases = self._find_leases()

        async def move(messages: list[Message]) -> None:
            for message in messages:
                await leases.add(queue, message.value() or b"", _read_id(message))

        await self._sender.find_partitions(name_queue(queue))
        await self._read(queue, name_queue(queue), move, None)
        return await leases.receive(queue, limit=limit, lease=lease, wait=wait)

    async def _find_partition(self, queue: str) -> int:
        """Return the partition of a private queue."""
        return crc32(queue.encode()) % await self._sender.find_partitions(PRIVATE_QUEUES, _PARTITIONS)

    async def _read(
        self,
        name: str,
        topic: str,
        take: Callable[[list[Message]], Awaitable[None]],
        partitions: list[int] | None,
    ) -> None:
        """Start a reader, unless it was started."""
        async with self._opening:
            if name not in self._readers:
                group = f"tactician-{topic}" if partitions is None else f"tactician-{new_id()}"
                reader = KafkaReader(self._options, group, topic, take, partitions)
                self._readers[name] = reader
                await reader.start()

    async def _take_private(self, messages: list[Message]) -> None:
        for message in messages:
            if (queue := self._broker.look_up(_read_key(message))) is not None:
                queue.add(message.value() or b"", SYSTEM_CLOCK.monotonic())

    async def _take_topics(self, messages: list[Message]) -> None:
        for message in messages:
            self._broker.publish(_read_key(message), message.value() or b"")

    def _find_leases(self) -> StoreTransport:
        if self._leases is None:
            raise ConfigurationError(
                "Kafka has no leases of single messages: Mesh('kafka://...', store=...) with a store that the "
                "instances of the node share"
            )
        return self._leases

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        if message.queue.startswith(PRIVATE):
            self._broker.find_queue(message.queue).remove(message)
        else:
            await self._find_leases().acknowledge(message)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        if message.queue.startswith(PRIVATE):
            self._broker.find_queue(message.queue).postpone(message, SYSTEM_CLOCK.monotonic() + delay)
        else:
            await self._find_leases().release(message, delay)

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message."""
        if not message.queue.startswith(PRIVATE):
            await self._find_leases().extend(message, seconds)

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        await self._sender.find_partitions(TOPICS)
        await self._sender.send(TOPICS, body, key=topic)

    @asynccontextmanager
    async def subscribe(self, pattern: str, since: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics."""
        partitions = [*range(await self._sender.find_partitions(TOPICS))]
        if since is not None:
            async with self._read_since(pattern, since, partitions) as messages:
                yield messages
            return
        await self._read(TOPICS, TOPICS, self._take_topics, partitions)
        unread: asyncio.Queue[bytes] = asyncio.Queue()
        self._broker.subscribers.append((pattern, unread))
        try:
            yield read_queue(unread)
        finally:
            self._broker.subscribers.remove((pattern, unread))

    @asynccontextmanager
    async def _read_since(
        self, pattern: str, since: float, partitions: list[int]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Read topics from a time on, by a reader of its own."""
        unread: asyncio.Queue[bytes] = asyncio.Queue()

        async def take(messages: list[Message]) -> None:
            for message in messages:
                if match_topic(pattern, _read_key(message)):
                    unread.put_nowait(message.value() or b"")

        reader = KafkaReader(self._options, f"tactician-{new_id()}", TOPICS, take, partitions, since)
        await reader.start()
        try:
            yield read_queue(unread)
        finally:
            await reader.stop()

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for some time, in the store."""
        return await self._find_leases().claim(key, seconds)


def _read_id(message: Message) -> str:
    """Return the id of a message; a message of another program has its place."""
    value = dict(cast("list[tuple[str, bytes]]", message.headers() or [])).get(_ID)
    if isinstance(value, bytes) and value.isalnum() and len(value) <= _LONGEST_ID:
        return value.decode()
    return f"{message.topic()}-{message.partition()}-{message.offset()}"


def _read_key(message: Message) -> str:
    key = message.key()
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else ""
