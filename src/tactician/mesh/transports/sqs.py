"""Transport over SQS: queues of work and replies. There are no topics, so nodes are asked by their names."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from hashlib import sha256
from ipaddress import ip_address
from math import ceil
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote, urlsplit

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from tactician.errors import ConfigurationError
from tactician.mesh.transports.transport import PRIVATE, LeasedMessage, Transport, TransportError, escape_name
from tactician.secrets import mask_secrets

if TYPE_CHECKING:
    from types_aiobotocore_sqs import SQSClient
    from types_aiobotocore_sqs.type_defs import MessageTypeDef

T = TypeVar("T")
_PREFIX: Final = "tactician-"
_LONGEST_NAME: Final = 80
_LONGEST_POLL: Final = 20
_LONGEST_LEASE: Final = 43_200
_MOST_AT_ONCE: Final = 10
_KEPT_FOR: Final = {True: "3600", False: "1209600"}
"""Seconds for which a new queue keeps messages: an hour in a private queue, and else as long as SQS can."""
_ABSENT: Final = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
_BROKEN: Final = (ClientError, BotoCoreError, HTTPClientError, OSError)
_TEXT: Final = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
"""Characters that a message of SQS may have; others go as base64."""
_ENCODING: Final = "encoding"


class SqsTransport(Transport):
    """Transport over SQS. The client tries again by itself.

    Args:
        url: `sqs://eu-west-1`, or `sqs://host:port/eu-west-1` for another service; without a user and a password in
            it, the credentials are those that AWS's libraries find.
        label: the address without credentials.

    Raises:
        ConfigurationError: when the address is not valid.
    """

    has_topics = False
    has_claims = False

    def __init__(self, url: str, label: str) -> None:
        self.label = label
        self._options = _read_options(url)
        self._stack = AsyncExitStack()
        self._client: SQSClient | None = None
        self._urls: dict[str, str] = {}
        self._own: set[str] = set()

    async def open(self) -> None:
        """Connect."""
        config = AioConfig(retries={"mode": "standard", "total_max_attempts": 4}, connect_timeout=3, read_timeout=30)
        creating = get_session().create_client("sqs", config=config, **self._options)
        try:
            self._client = await self._stack.enter_async_context(creating)
            await self._look_up(f"{_PREFIX}probe")
        except (*_BROKEN, ValueError) as error:
            await self.aclose()
            raise self._explain(error) from error

    async def aclose(self) -> None:
        """Delete the queues of this process, and close all connections."""
        if (client := self._client) is not None:
            for queue in self._own:
                with suppress(*_BROKEN):
                    await client.delete_queue(QueueUrl=self._urls[queue])
        self._client = None
        self._own.clear()
        self._urls.clear()
        await self._stack.aclose()

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue. A message to a process that has ended is dropped."""
        url = await self._find_url(queue, creates=not queue.startswith(PRIVATE))
        if url is None:
            return
        text, is_encoded = _encode(body)
        sending = self._connected.send_message(
            QueueUrl=url,
            MessageBody=text,
            MessageAttributes={_ENCODING: {"DataType": "String", "StringValue": "base64"}} if is_encoded else {},
        )
        await self._guard(sending, queue)

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time, in full seconds."""
        url = await self._find_url(queue, creates=True)
        assert url is not None
        if wait <= 0 and queue in self._own:
            return []
        receiving = self._connected.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=min(limit, _MOST_AT_ONCE),
            VisibilityTimeout=_bound_lease(lease),
            WaitTimeSeconds=min(round(wait), _LONGEST_POLL),
            MessageAttributeNames=[_ENCODING],
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        received = await self._guard(receiving, queue)
        return [_read_message(queue, message) for message in received.get("Messages", [])]

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        url = await self._find_url(message.queue, creates=True)
        deleting = self._connected.delete_message(QueueUrl=str(url), ReceiptHandle=str(message.receipt))
        await self._guard(deleting, message.queue)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back, after full seconds."""
        await self._change(message, min(ceil(delay), _LONGEST_LEASE))

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message."""
        await self._change(message, _bound_lease(seconds))

    async def _change(self, message: LeasedMessage, seconds: int) -> None:
        url = await self._find_url(message.queue, creates=True)
        changing = self._connected.change_message_visibility(
            QueueUrl=str(url), ReceiptHandle=str(message.receipt), VisibilityTimeout=seconds
        )
        await self._guard(changing, message.queue)

    async def publish(self, topic: str, body: bytes) -> None:
        """Refuse: SQS has no topics.

        Raises:
            TransportError: always.
        """
        raise TransportError(f"{self.label} has no topics: ask nodes by their names, on='kitchen'")

    def subscribe(self, pattern: str, since: float | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Refuse: SQS has no topics.

        Raises:
            TransportError: always.
        """
        raise TransportError(f"{self.label} has no topics: ask nodes by their names, on='kitchen'")

    async def claim(self, key: str, seconds: float) -> bool:
        """Refuse: SQS has no claims.

        Raises:
            TransportError: always.
        """
        raise TransportError(f"{self.label} has no claims: use another transport, or a store that instances share")

    async def _find_url(self, queue: str, *, creates: bool) -> str | None:
        """Return the URL of a queue; an operator may have created the queue, with other settings."""
        if (url := self._urls.get(queue)) is not None:
            return url
        name = _name_queue(queue)
        url = await self._guard(self._look_up(name), queue)
        if url is None and creates:
            is_private = queue.startswith(PRIVATE)
            keeping = self._connected.create_queue(
                QueueName=name, Attributes={"MessageRetentionPeriod": _KEPT_FOR[is_private]}
            )
            url = (await self._guard(keeping, queue))["QueueUrl"]
            if is_private:
                self._own.add(queue)
        if url is not None:
            self._urls[queue] = url
        return url

    async def _look_up(self, name: str) -> str | None:
        try:
            return (await self._connected.get_queue_url(QueueName=name))["QueueUrl"]
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _ABSENT:
                return None
            raise

    @property
    def _connected(self) -> SQSClient:
        if self._client is None:
            raise TransportError(f"{self.label} is not open: use the mesh inside `async with mesh:`")
        return self._client

    async def _guard(self, operation: Awaitable[T], queue: str) -> T:
        try:
            return await operation
        except _BROKEN as error:
            self._urls.pop(queue, None)  # somebody may have deleted the queue
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> TransportError:
        is_full = "OverLimit" in str(error)
        return TransportError(f"{self.label}: {mask_secrets(str(error)) or type(error).__name__}", is_full=is_full)


def _read_options(url: str) -> dict[str, str]:
    """Return the options of the client."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if not host:
        raise ConfigurationError("The address of SQS has the form sqs://eu-west-1, or sqs://host:port/eu-west-1")
    if port is None and parts.path in ("", "/"):
        options = {"region_name": host}
    else:
        scheme = "http" if _is_loopback(host) else "https"
        address = f"[{host}]" if ":" in host else host
        endpoint = f"{scheme}://{address}:{port}" if port else f"{scheme}://{address}"
        options = {"endpoint_url": endpoint, "region_name": parts.path.strip("/") or "us-east-1"}
    if parts.username:
        options["aws_access_key_id"] = unquote(parts.username)
        options["aws_secret_access_key"] = unquote(parts.password or "")
    return options


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _name_queue(queue: str) -> str:
    """Return the name of a queue, which has at most 80 characters; the end of a long name is a hash."""
    name = _PREFIX + escape_name(queue)
    return name if len(name) <= _LONGEST_NAME else f"{name[:47]}-{sha256(queue.encode()).hexdigest()[:32]}"


def _bound_lease(seconds: float) -> int:
    return min(max(ceil(seconds), 1), _LONGEST_LEASE)


def _encode(body: bytes) -> tuple[str, bool]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = ""
    if text and _TEXT.fullmatch(text):
        return text, False
    return b64encode(body).decode(), True


def _read_message(queue: str, message: MessageTypeDef) -> LeasedMessage:
    text, body = message["Body"], message["Body"].encode()
    if _ENCODING in message.get("MessageAttributes", {}):
        with suppress(ValueError):  # the reader of the message refuses it
            body = b64decode(text)
    deliveries = int(message.get("Attributes", {}).get("ApproximateReceiveCount", "1"))
    return LeasedMessage(queue, body, deliveries, message["ReceiptHandle"])
