"""Transport over NATS: queues in JetStream, topics and private queues in core NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Final, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, MsgAlreadyAckdError
from nats.js import JetStreamContext, api
from nats.js.errors import APIError, BadRequestError, KeyWrongLastSequenceError, NoStreamResponseError, NotFoundError
from nats.js.kv import KeyValue

from tactician.clock import SYSTEM_CLOCK, Timeout
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.mesh.transports.memory import MemoryQueue
from tactician.mesh.transports.transport import (
    KEPT_FOR,
    PRIVATE,
    LeasedMessage,
    Transport,
    TransportError,
    escape_name,
    is_reserved,
    read_queue,
)
from tactician.secrets import mask_secrets

T = TypeVar("T")
_STREAM: Final = "TACTICIAN"
_MESSAGE_ID: Final = "Nats-Msg-Id"
_CLAIMS: Final = "tactician_claims"
_QUEUES: Final = "tactician.queue."
_PRIVATE: Final = "tactician.private."
_TOPICS: Final = "tactician.topic."
_EVENTS: Final = "tactician.event."
_KEPT: Final = "TACTICIAN-TOPICS"
"""Stream of what was published in topics."""
_CONNECT: Final = 3.0
_TIMEOUT: Final = 2.0
"""Seconds after which a request to the server is made again: it is lost when the connection breaks."""
_PATIENCE: Final = 30.0
"""Seconds for which an operation is tried while the client reconnects."""
_PAUSE: Final = 0.1
_PENDING: Final = 10_000
"""Messages of a queue that may be leased at once."""
_BROKEN: Final = (Error, APIError, OSError, TimeoutError)
_logger = get_logger(__name__)


class NatsTransport(Transport):
    """Transport over NATS with JetStream. The client reconnects by itself, and sends what it could not send then.

    Args:
        url: address of the server, or of several, separated by commas.
        label: the address without credentials.
    """

    has_topics = True
    has_claims = True

    def __init__(self, url: str, label: str) -> None:
        self.label = label
        self._url = url
        self._client: Client | None = None
        self._stream: JetStreamContext | None = None
        self._refusal: Exception | None = None
        self._claims: KeyValue | None = None
        self._pulls: dict[str, JetStreamContext.PullSubscription] = {}
        self._private: dict[str, MemoryQueue] = {}

    async def open(self) -> None:
        """Connect, and create the streams."""
        self._client = Client()
        try:
            with Timeout(_CONNECT, SYSTEM_CLOCK):  # the client itself would try for ever
                await self._client.connect(
                    self._url.split(","),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=_PAUSE,  # type: ignore[arg-type]  # it takes any number
                    error_cb=self._note,
                )
            self._stream = self._client.jetstream(timeout=_TIMEOUT)
            await self._create_streams(self._stream)
        except _BROKEN as error:
            await self.aclose()
            raise self._explain(self._refusal or error) from error

    async def _create_streams(self, stream: JetStreamContext) -> None:
        queues = api.StreamConfig(
            name=_STREAM,
            subjects=[f"{_QUEUES}>"],
            retention=api.RetentionPolicy.WORK_QUEUE,
            discard=api.DiscardPolicy.NEW,  # a full stream refuses what comes, and drops nothing that it has
        )
        kept = api.StreamConfig(name=_KEPT, subjects=[f"{_EVENTS}>"], max_age=KEPT_FOR)
        for config in (queues, kept):
            try:
                await stream.stream_info(config.name or "")  # an operator may have created it with other limits
            except NotFoundError:
                with suppress(BadRequestError):  # another node has created it meanwhile
                    await stream.add_stream(config)

    async def aclose(self) -> None:
        """Close the connection."""
        if (client := self._client) is not None:
            self._client = self._stream = self._claims = None
            self._pulls.clear()
            await client.close()

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue."""
        if queue.startswith(PRIVATE):
            await self._guard(self._connected.publish(_PRIVATE + escape_name(queue), body))
        else:
            subject, headers = _QUEUES + escape_name(queue), {_MESSAGE_ID: new_id()}  # sent twice, it is stored once
            await self._retry(lambda: self._streaming.publish(subject, body, stream=_STREAM, headers=headers))

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time."""
        if queue.startswith(PRIVATE):
            return await (await self._open_private(queue)).receive(limit, lease, wait, SYSTEM_CLOCK)
        pull = self._pulls.get(queue) or await self._open_pull(queue, lease)
        ends_at, messages = SYSTEM_CLOCK.monotonic() + wait, list[Msg]()
        while not messages and (left := ends_at - SYSTEM_CLOCK.monotonic()) > 0:
            messages = await self._fetch(queue, pull, limit, min(left, _TIMEOUT))
        return [LeasedMessage(queue, message.data, message.metadata.num_delivered, message) for message in messages]

    async def _fetch(
        self, queue: str, pull: JetStreamContext.PullSubscription, limit: int, seconds: float
    ) -> list[Msg]:
        try:
            return await pull.fetch(limit, timeout=seconds)
        except TimeoutError:
            return []
        except _BROKEN as error:
            self._pulls.pop(queue, None)
            raise self._explain(error) from error

    async def _open_private(self, queue: str) -> MemoryQueue:
        if (local := self._private.get(queue)) is not None:
            return local
        local = self._private[queue] = MemoryQueue(queue)

        async def take(message: Msg) -> None:
            local.add(message.data, SYSTEM_CLOCK.monotonic())

        await self._guard(self._connected.subscribe(_PRIVATE + escape_name(queue), cb=take))
        await self._guard(self._connected.flush())
        return local

    async def _open_pull(self, queue: str, lease: float) -> JetStreamContext.PullSubscription:
        name = escape_name(queue)
        subject = _QUEUES + name
        config = api.ConsumerConfig(ack_wait=lease, max_deliver=-1, max_ack_pending=_PENDING, filter_subject=subject)
        pull = self._pulls[queue] = await self._retry(
            lambda: self._streaming.pull_subscribe(subject, durable=name, stream=_STREAM, config=config)
        )
        return pull

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        if isinstance(receipt := message.receipt, Msg):
            await self._retry(lambda: _acknowledge(receipt))
        else:
            self._private[message.queue].remove(message)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        if isinstance(receipt := message.receipt, Msg):
            await self._guard(receipt.nak(delay or None))
        else:
            self._private[message.queue].postpone(message, SYSTEM_CLOCK.monotonic() + delay)

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message, by the lease of its queue."""
        if isinstance(receipt := message.receipt, Msg):
            await self._guard(receipt.in_progress())

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        subject = _name_subject(topic)
        if is_reserved(topic):
            await self._guard(self._connected.publish(subject, body))
        else:
            headers = {_MESSAGE_ID: new_id()}
            await self._retry(lambda: self._streaming.publish(subject, body, stream=_KEPT, headers=headers))

    @asynccontextmanager
    async def subscribe(self, pattern: str, since: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics."""
        unread: asyncio.Queue[bytes] = asyncio.Queue()

        async def take(message: Msg) -> None:
            unread.put_nowait(message.data)

        subject = _name_subject(pattern)
        if since is None:
            subscription = await self._guard(self._connected.subscribe(subject, cb=take))
            await self._guard(self._connected.flush())
        else:
            subscription = await self._guard(self._subscribe_since(subject, since, take))
        try:
            yield read_queue(unread)
        finally:
            with suppress(*_BROKEN):
                await subscription.unsubscribe()

    async def _subscribe_since(
        self, subject: str, since: float, take: Callable[[Msg], Awaitable[None]]
    ) -> JetStreamContext.PushSubscription:
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_TIME, opt_start_time=datetime.fromtimestamp(since, UTC)
        )
        return await self._streaming.subscribe(subject, stream=_KEPT, config=config, ordered_consumer=True, cb=take)

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for some time."""
        claims = self._claims or await self._open_claims()
        try:
            await claims.create(escape_name(key), b"", msg_ttl=max(1.0, seconds))
        except KeyWrongLastSequenceError:
            return False
        except _BROKEN as error:
            raise self._explain(error) from error
        return True

    async def _open_claims(self) -> KeyValue:
        config = api.KeyValueConfig(bucket=_CLAIMS, limit_marker_ttl=1.0)
        self._claims = await self._guard(self._streaming.create_key_value(config))
        return self._claims

    @property
    def _connected(self) -> Client:
        if self._client is None:
            raise TransportError(f"{self.label} is not open: use the mesh inside `async with mesh:`")
        return self._client

    @property
    def _streaming(self) -> JetStreamContext:
        if self._stream is None:
            raise TransportError(f"{self.label} is not open: use the mesh inside `async with mesh:`")
        return self._stream

    async def _guard(self, operation: Awaitable[T]) -> T:
        try:
            return await operation
        except _BROKEN as error:
            raise self._explain(error) from error

    async def _retry(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an operation that may be done twice, and is done again when its answer is lost."""
        ends_at = SYSTEM_CLOCK.monotonic() + _PATIENCE
        while True:
            try:
                return await operation()
            except _BROKEN as error:
                is_lost = isinstance(error, (TimeoutError, NoStreamResponseError))
                if not is_lost or SYSTEM_CLOCK.monotonic() >= ends_at:
                    raise self._explain(error) from error
                await SYSTEM_CLOCK.sleep(_PAUSE)

    async def _note(self, error: Exception) -> None:
        if self._stream is None:  # the first connection, which is tried until its time is over
            self._refusal = error
            return
        _logger.warning("%s: %s", self.label, mask_secrets(str(error) or type(error).__name__))

    def _explain(self, error: BaseException) -> TransportError:
        reason = mask_secrets(str(error)) or type(error).__name__
        is_full = isinstance(error, APIError) and "exceeded" in str(error.description)
        return TransportError(f"{self.label}: {reason}", is_full=is_full)


def _name_subject(topic: str) -> str:
    """Return the subject of a topic or a pattern."""
    parts = [part if part in ("*", ">") else escape_name(part) for part in topic.split(".")]
    return (_TOPICS if is_reserved(topic) else _EVENTS) + ".".join(parts)


async def _acknowledge(message: Msg) -> None:
    with suppress(MsgAlreadyAckdError):
        await message.ack_sync(timeout=_TIMEOUT)
