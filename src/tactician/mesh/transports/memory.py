"""Transport within a program: queues, topics and claims in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Final
from weakref import WeakValueDictionary

from tactician.clock import SYSTEM_CLOCK, Clock, wait_for_event
from tactician.frozen import frozen
from tactician.mesh.transports.transport import (
    MAX_QUEUED,
    LeasedMessage,
    Transport,
    TransportError,
    is_reserved,
    match_topic,
    read_queue,
)

_MOST_KEPT: Final = 10_000
"""Messages of topics that are kept for subscribers that are away."""
_MOST_FORMER: Final = 1000
"""Former places of messages that a heap keeps at most, beside as many as it has messages."""


class MemoryTransport(Transport):
    """Transport between the nodes of a program. All transports of a name are connected.

    Args:
        name: the name.
        clock: clock of leases and delays.
    """

    has_topics = True
    has_claims = True

    def __init__(self, name: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        self.label = f"memory://{name}"
        self._clock = clock
        self._name = name
        self._broker = _BROKERS.setdefault(name, MemoryBroker()) if name else MemoryBroker()

    async def open(self) -> None:
        """Use the broker: it keeps what it has until the last transport that is open ends."""
        self._broker.users += 1

    async def aclose(self) -> None:
        """Forget the broker, unless others use it. A cycle of references must not keep it for later programs."""
        self._broker.users -= 1
        if not self._broker.users and _BROKERS.get(self._name) is self._broker:
            del _BROKERS[self._name]

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue."""
        self._broker.find_queue(queue).add(body, self._clock.monotonic())

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time."""
        return await self._broker.find_queue(queue).receive(limit, lease, wait, self._clock)

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        self._broker.find_queue(message.queue).remove(message)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        self._broker.find_queue(message.queue).postpone(message, self._clock.monotonic() + delay)

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message."""
        self._broker.find_queue(message.queue).postpone(message, self._clock.monotonic() + seconds)

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        self._broker.keep(topic, body, self._clock.time())
        self._broker.publish(topic, body)

    @asynccontextmanager
    async def subscribe(self, pattern: str, since: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics."""
        unread: asyncio.Queue[bytes] = asyncio.Queue()
        for kept in self._broker.find_kept(pattern, since):
            unread.put_nowait(kept.body)
        self._broker.subscribers.append((pattern, unread))
        try:
            yield read_queue(unread)
        finally:
            self._broker.subscribers.remove((pattern, unread))

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for some time."""
        now, claims = self._clock.monotonic(), self._broker.claims
        if claims.get(key, -inf) > now:
            return False
        while claims and next(iter(claims.values())) <= now:  # of equal terms, the oldest come first
            del claims[next(iter(claims))]
        claims.pop(key, None)
        claims[key] = now + seconds
        return True


@dataclass(slots=True, eq=False)
class _Entry:
    body: bytes
    ready_at: float
    deliveries: int = 0
    is_removed: bool = False


class MemoryQueue:
    """Queue in memory. A message that is leased stays in it, and is ready again when the lease ends.

    A message that is postponed gets another place in the heap, and its former place is passed over, so that a message
    costs the same however many others wait.

    Args:
        name: name of the queue.
        most: number of messages that it holds.
    """

    def __init__(self, name: str, most: int = MAX_QUEUED) -> None:
        self._name = name
        self._most = most
        self._places: list[tuple[float, int, _Entry]] = []
        self._numbers = count()
        self._length = 0
        self._receivers: set[asyncio.Event] = set()

    def __len__(self) -> int:
        return self._length

    @property
    def ready_at(self) -> float:
        """Time at which a message is ready; infinite when the queue is empty."""
        while self._places and _is_former(self._places[0]):
            heappop(self._places)
        return self._places[0][0] if self._places else inf

    def add(self, body: bytes, now: float) -> None:
        """Add a message.

        Raises:
            TransportError: when the queue is full.
        """
        if self._length >= self._most:
            raise TransportError(f"The queue {self._name!r} is full: {self._most:,} messages wait.", is_full=True)
        self._length += 1
        self._place(_Entry(body, now))
        self._notify()

    async def receive(self, limit: int, lease: float, wait: float, clock: Clock) -> list[LeasedMessage]:
        """Take the messages that are ready; wait for the first."""
        ends_at = clock.monotonic() + wait
        while not (taken := self.take(limit, lease, now := clock.monotonic())):
            if now >= ends_at:
                break
            await self._wait(min(ends_at, self.ready_at) - now, clock)
        return taken

    async def _wait(self, seconds: float, clock: Clock) -> None:
        """Wait for a change. The queue may outlast the event loop of a receiver, so each wait has its own event."""
        self._receivers.add(changed := asyncio.Event())
        try:
            await wait_for_event(changed, seconds, clock)
        finally:
            self._receivers.discard(changed)

    def _notify(self) -> None:
        for changed in self._receivers:
            changed.set()

    def remove(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        if isinstance(entry := message.receipt, _Entry) and not entry.is_removed:
            entry.is_removed, entry.body = True, b""
            self._length -= 1
            if len(self._places) > 2 * self._length + _MOST_FORMER:
                self._places = [place for place in self._places if not _is_former(place)]
                heapify(self._places)

    def postpone(self, message: LeasedMessage, ready_at: float) -> None:
        """Make a message ready at another time."""
        if isinstance(entry := message.receipt, _Entry) and not entry.is_removed:
            entry.ready_at = ready_at
            self._place(entry)
            self._notify()

    def take(self, limit: int, lease: float, now: float) -> list[LeasedMessage]:
        """Take the messages that are ready."""
        taken: list[_Entry] = []
        while len(taken) < limit and self.ready_at <= now:
            taken.append(heappop(self._places)[2])
        for entry in taken:
            entry.ready_at = now + lease
            entry.deliveries += 1
            self._place(entry)
        return [LeasedMessage(self._name, entry.body, entry.deliveries, entry) for entry in taken]

    def _place(self, entry: _Entry) -> None:
        heappush(self._places, (entry.ready_at, next(self._numbers), entry))


def _is_former(place: tuple[float, int, _Entry]) -> bool:
    ready_at, _, entry = place
    return entry.is_removed or entry.ready_at != ready_at


@frozen
class KeptMessage:
    """Message of a topic that is kept for subscribers that were away.

    Attributes:
        number: its place among the messages.
        published_at: time of the publication, in seconds since the epoch.
        topic: the topic.
        body: the message.
    """

    number: int
    published_at: float
    topic: str
    body: bytes


class MemoryBroker:
    """Queues, topics and claims of a program."""

    def __init__(self) -> None:
        self.users = 0
        self.subscribers: list[tuple[str, asyncio.Queue[bytes]]] = []
        self.claims: dict[str, float] = {}
        self._queues: dict[str, MemoryQueue] = {}
        self._kept: deque[KeptMessage] = deque(maxlen=_MOST_KEPT)
        self._numbers = count(1)

    def look_up(self, name: str) -> MemoryQueue | None:
        """Return a queue, if it exists."""
        return self._queues.get(name)

    def find_queue(self, name: str) -> MemoryQueue:
        """Return a queue, which exists from then on."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = MemoryQueue(name)
        return queue

    def drop_queue(self, name: str) -> None:
        """Forget a queue and its messages."""
        self._queues.pop(name, None)

    def keep(self, topic: str, body: bytes, now: float) -> None:
        """Keep a message of a topic for subscribers that are away; of very many, the newest."""
        if not is_reserved(topic):
            self._kept.append(KeptMessage(next(self._numbers), now, topic, body))

    def find_kept(self, pattern: str, since: float | None, after: int = 0) -> Iterator[KeptMessage]:
        """Yield the messages that were published since a time, oldest first; none, when it is `None`."""
        if since is None:
            return
        for kept in tuple(self._kept):
            if kept.number > after and kept.published_at >= since and match_topic(pattern, kept.topic):
                yield kept

    def publish(self, topic: str, body: bytes) -> None:
        """Give a message to all who have subscribed to a topic."""
        for pattern, unread in self.subscribers:
            if match_topic(pattern, topic):
                unread.put_nowait(body)


_BROKERS: Final[WeakValueDictionary[str, MemoryBroker]] = WeakValueDictionary()
