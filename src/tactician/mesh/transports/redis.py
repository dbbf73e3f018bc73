"""Transport over Redis: queues as streams with a consumer group, topics and private queues by publish and subscribe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from tactician.clock import SYSTEM_CLOCK
from tactician.events.event import new_id
from tactician.mesh.transports.memory import MemoryQueue
from tactician.mesh.transports.transport import (
    KEPT_FOR,
    PRIVATE,
    LeasedMessage,
    Transport,
    TransportError,
    is_reserved,
    keep_trying,
    match_topic,
    read_queue,
)

T = TypeVar("T")
_Entry: TypeAlias = tuple[bytes, dict[bytes, bytes]]
_PREFIX: Final = "tactician:"
_GROUP: Final = "nodes"
_BODY: Final = "body"
_TOPIC: Final = "topic"
_KEPT: Final = f"{_PREFIX}topics"
"""Stream of what was published in topics."""
_BATCH: Final = 100
_BLOCK: Final = 1.0
"""Seconds of a blocking read, between which messages are taken over whose lease has ended, and those that are due."""
_RETRIES: Final = 20
_MOVE_DUE: Final = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 100)
for _, entry in ipairs(due) do
  redis.call('ZREM', KEYS[1], entry)
  redis.call('XADD', KEYS[2], '*', 'body', string.sub(entry, 17))
end
return #due
"""
"""Moves the messages whose delay is over into their stream; an entry is an id of 16 characters and the message."""


class RedisTransport(Transport):
    """Transport over Redis. The client reconnects by itself.

    Args:
        url: address of the server.
        label: the address without credentials.
    """

    has_topics = True
    has_claims = True

    def __init__(self, url: str, label: str) -> None:
        self.label = label
        self._consumer = f"node-{new_id()}"
        self._url = url
        self._client: Redis | None = None
        self._groups: set[str] = set()
        self._private: dict[str, MemoryQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Connect."""
        client = Redis.from_url(
            self._url, socket_connect_timeout=3, socket_timeout=None, socket_keepalive=True, retry=Retry(NoBackoff(), 0)
        )
        try:
            await self._guard(client.ping())
        except TransportError:
            await client.aclose()
            raise
        self._client = client

    async def aclose(self) -> None:
        """Close all connections."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if (client := self._client) is not None:
            self._client = None
            await client.aclose()

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue."""
        if queue.startswith(PRIVATE):
            await self._guard(self._connected.publish(f"{_PREFIX}private:{queue}", body))
        else:
            await self._retry(lambda: self._connected.xadd(_name_stream(queue), {_BODY: body}))

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time."""
        if queue.startswith(PRIVATE):
            return await (await self._open_private(queue)).receive(limit, lease, wait, SYSTEM_CLOCK)
        ends_at = SYSTEM_CLOCK.monotonic() + wait
        while True:
            await self._prepare(queue)
            if expired := await self._take_over(queue, limit, lease):
                return expired
            left = ends_at - SYSTEM_CLOCK.monotonic()
            if fresh := await self._read(queue, limit, min(left, _BLOCK, lease / 2)):
                return fresh
            if ends_at <= SYSTEM_CLOCK.monotonic():
                return []

    async def _prepare(self, queue: str) -> None:
        """Create the group of a queue, and move the messages into it that are due."""
        if queue not in self._groups:
            await self._retry(lambda: self._create_group(queue))
            self._groups.add(queue)
        keys = _name_delayed(queue), _name_stream(queue)
        await self._retry(lambda: self._connected.eval(_MOVE_DUE, 2, *keys, SYSTEM_CLOCK.time()))

    async def _create_group(self, queue: str) -> None:
        try:
            await self._connected.xgroup_create(_name_stream(queue), _GROUP, "0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):  # another node has created it
                raise

    async def _take_over(self, queue: str, limit: int, lease: float) -> list[LeasedMessage]:
        """Take the messages whose receivers have let their leases end."""
        idle = int(lease * 1000)
        claimed = await self._retry(
            lambda: self._connected.xautoclaim(_name_stream(queue), _GROUP, self._consumer, idle, count=limit)
        )
        return [self._create(queue, entry, fields) for entry, fields in claimed[1] if fields]

    async def _read(self, queue: str, limit: int, seconds: float) -> list[LeasedMessage]:
        block = max(1, int(seconds * 1000))
        read = await self._retry(
            lambda: self._connected.xreadgroup(_GROUP, self._consumer, {_name_stream(queue): ">"}, limit, block)
        )
        entries = [entry for _, entries in cast("list[tuple[bytes, list[_Entry]]]", read or []) for entry in entries]
        return [self._create(queue, entry, fields) for entry, fields in entries]

    def _create(self, queue: str, entry: bytes, fields: dict[bytes, bytes]) -> LeasedMessage:
        return LeasedMessage(queue, fields[_BODY.encode()], receipt=entry)

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        if (local := self._private.get(message.queue)) is not None:
            local.remove(message)
            return
        stream, entry = _name_stream(message.queue), cast("bytes", message.receipt)

        async def remove() -> None:
            async with self._connected.pipeline(transaction=True) as pipeline:
                pipeline.xack(stream, _GROUP, entry)
                pipeline.xdel(stream, entry)
                await pipeline.execute()

        await self._retry(remove)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        if (local := self._private.get(message.queue)) is not None:
            local.postpone(message, SYSTEM_CLOCK.monotonic() + delay)
            return
        stream, entry = _name_stream(message.queue), cast("bytes", message.receipt)
        delayed = {new_id().encode()[:16].ljust(16, b"-") + message.body: SYSTEM_CLOCK.time() + delay}
        async with self._connected.pipeline(transaction=True) as pipeline:
            pipeline.zadd(_name_delayed(message.queue), cast("Any", delayed))
            pipeline.xack(stream, _GROUP, entry)
            pipeline.xdel(stream, entry)
            await self._guard(pipeline.execute())

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message, by the lease of its queue."""
        if message.queue not in self._private:
            stream, entry = _name_stream(message.queue), cast("bytes", message.receipt)
            await self._guard(self._connected.xclaim(stream, _GROUP, self._consumer, 0, [entry], justid=True))

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        if not is_reserved(topic):
            oldest = int((SYSTEM_CLOCK.time() - KEPT_FOR) * 1000)
            await self._guard(self._connected.xadd(_KEPT, {_TOPIC: topic, _BODY: body}, minid=oldest))
        await self._guard(self._connected.publish(f"{_PREFIX}topic:{topic}", body))

    @asynccontextmanager
    async def subscribe(self, pattern: str, since: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics."""
        if since is not None:
            yield self._read_kept(pattern, f"{max(0, int(since * 1000))}-0")
            return
        prefix, unread = f"{_PREFIX}topic:", asyncio.Queue[bytes]()

        def take(channel: str, body: bytes) -> None:
            if match_topic(pattern, channel.removeprefix(prefix)):
                unread.put_nowait(body)

        task = await self._listen(f"{prefix}*", take)
        try:
            yield read_queue(unread)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _read_kept(self, pattern: str, place: str) -> AsyncIterator[bytes]:
        """Yield what the server has kept after a place, and then what is published."""
        while True:
            read = await keep_trying(
                partial(self._connected.xread, {_KEPT: place}, _BATCH, int(_BLOCK * 1000)),
                (RedisError, OSError),
                self.label,
            )
            for _, entries in cast("list[tuple[bytes, list[_Entry]]]", read or []):
                for entry, fields in entries:
                    place = entry.decode()
                    if match_topic(pattern, fields[_TOPIC.encode()].decode()):
                        yield fields[_BODY.encode()]

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for some time."""
        name = f"{_PREFIX}claim:{key}"
        return bool(await self._guard(self._connected.set(name, self._consumer, nx=True, px=int(seconds * 1000))))

    async def _open_private(self, queue: str) -> MemoryQueue:
        if (local := self._private.get(queue)) is None:
            local = self._private[queue] = added = MemoryQueue(queue)
            name = f"{_PREFIX}private:{queue}"
            await self._listen(name, lambda _, body: added.add(body, SYSTEM_CLOCK.monotonic()))
        return local

    async def _listen(self, pattern: str, take: Callable[[str, bytes], None]) -> asyncio.Task[None]:
        """Listen to channels from now on, also after the connection broke."""
        escaped = pattern if pattern.endswith("*") else _escape_pattern(pattern)
        is_ready = asyncio.Event()

        async def listen() -> None:
            async with self._connected.pubsub(ignore_subscribe_messages=False) as channels:
                await channels.psubscribe(escaped)
                await _read_channels(channels, is_ready, take)

        async def keep_listening() -> None:
            await keep_trying(listen, (RedisError, OSError), self.label)

        task = asyncio.create_task(keep_listening())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await is_ready.wait()
        return task

    @property
    def _connected(self) -> Redis:
        if self._client is None:
            raise TransportError(f"{self.label} is not open: use the mesh inside `async with mesh:`")
        return self._client

    async def _retry(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an operation that may be done twice, and is done again while the server restarts."""
        for attempt in range(_RETRIES):
            try:
                return await operation()
            except ResponseError as error:
                if not str(error).startswith("LOADING"):
                    raise self._explain(error) from error
            except (RedisError, OSError) as error:
                if attempt == _RETRIES - 1:
                    raise self._explain(error) from error
            await SYSTEM_CLOCK.sleep(min(0.05 * 2**attempt, 1.0))
        raise AssertionError

    async def _guard(self, operation: Awaitable[T]) -> T:
        try:
            return await operation
        except (RedisError, OSError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> TransportError:
        is_full = isinstance(error, OutOfMemoryError)
        return TransportError(f"{self.label}: {type(error).__name__}: {error}", is_full=is_full)


async def _read_channels(channels: PubSub, is_ready: asyncio.Event, take: Callable[[str, bytes], None]) -> None:
    async for message in channels.listen():
        if message["type"] == "psubscribe":
            is_ready.set()
        elif message["type"] == "pmessage":
            take(message["channel"].decode(), message["data"])


def _escape_pattern(name: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]^\\" else letter for letter in name)


def _name_stream(queue: str) -> str:
    return f"{_PREFIX}queue:{queue}"


def _name_delayed(queue: str) -> str:
    return f"{_PREFIX}delayed:{queue}"
