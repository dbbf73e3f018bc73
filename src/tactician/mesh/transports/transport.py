"""Contract of a transport: it carries messages between the nodes and callers of a mesh, and keeps nothing else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Final, Protocol, TypeVar

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import TransientError
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.resilience.backoff import compute_backoff
from tactician.stores import DocumentStore

T = TypeVar("T")
PRIVATE: Final = "@"
"""Beginning of the name of a queue that belongs to a process, and need not survive it."""
MAX_QUEUED: Final = 100_000
"""Number of messages that a queue in memory holds."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
RESERVED: Final = "tactician."
"""Beginning of the topics of the mesh itself."""
KEPT_FOR: Final = 86_400.0
"""Seconds for which a transport keeps what was published, for subscribers that were away."""
_SAFE: Final = re.compile(r"[A-Za-z0-9-]")
_logger = get_logger(__name__)


class TransportError(TransientError):
    """Error for a broker or node that cannot be reached, or does not take a message.

    Attributes:
        is_full: true when a queue is full.
    """

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.is_full = is_full


@frozen
class LeasedMessage:
    """Message that a receiver holds until it acknowledges or releases the message, or the lease ends.

    Attributes:
        queue: queue of the message.
        body: the message.
        deliveries: number of times that it was delivered, as far as the broker counts.
        receipt: by what the transport knows the message.
    """

    queue: str
    body: bytes
    deliveries: int = 1
    receipt: object = field(default=None, repr=False)


class Transport(Protocol):
    """Transport of messages. Every method raises a `TransportError` when the broker does not answer.

    A queue is durable: a message that was sent stays until a receiver acknowledges it. A queue whose name begins with
    `PRIVATE` belongs to the process that receives from it. A topic reaches those who have subscribed to it.

    Attributes:
        label: kind and address, without credentials.
        has_topics: true when there are topics.
        has_claims: true when `claim` works across processes.
    """

    label: str
    has_topics: bool
    has_claims: bool

    def use_store(self, store: DocumentStore) -> None:
        """Let a transport whose broker has no leases keep them in the store of a node, unless it has another."""
        return

    async def open(self) -> None:
        """Connect; `aclose` undoes it."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue. When this returns, the transport has the message."""
        ...

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for the seconds of the lease.

        Args:
            queue: name of the queue, which exists from then on.
            limit: number of messages at most.
            lease: seconds after which a message goes to another receiver, unless it is extended.
            wait: seconds to wait for the first message.
        """
        ...

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        ...

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back, to be delivered again after so many seconds."""
        ...

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message, from now on."""
        ...

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic now."""
        ...

    def subscribe(self, pattern: str, since: float | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return a subscription of topics: once it is entered, no message is missed.

        Args:
            pattern: name of a topic; `*` stands for a part between dots, and `>` at the end for all further parts.
            since: time from which messages come that were published before, as far as the transport has kept them; in
                seconds since the epoch.
        """
        ...

    async def claim(self, key: str, seconds: float) -> bool:
        """Claim a key for so many seconds, and return whether nobody else has it."""
        ...


def is_reserved(topic: str) -> bool:
    """Return whether a topic belongs to the mesh itself. Its messages are news for a moment, which nobody keeps."""
    return topic.startswith(RESERVED)


def match_topic(pattern: str, topic: str) -> bool:
    """Return whether the name of a topic matches a pattern."""
    pattern_parts, parts = pattern.split("."), topic.split(".")
    if pattern_parts[-1] == ">":
        pattern_parts.pop()
        if len(parts) <= len(pattern_parts):
            return False
        parts = parts[: len(pattern_parts)]
    return len(pattern_parts) == len(parts) and all(
        want in ("*", part) for want, part in zip(pattern_parts, parts, strict=True)
    )


def escape_name(name: str) -> str:
    """Return a name with nothing but letters, digits, `-` and `_`, which every broker takes. No two are the same."""
    return "".join(letter if _SAFE.fullmatch(letter) else f"_{letter.encode().hex()}_" for letter in name)


async def keep_trying(
    attempt: Callable[[], Awaitable[T]], errors: tuple[type[Exception], ...], label: str, clock: Clock = SYSTEM_CLOCK
) -> T:
    """Return the result of an operation that is tried until it succeeds, with growing pauses."""
    for number in range(1, 1_000_000_000):
        try:
            return await attempt()
        except errors as error:
            _logger.warning("%s does not answer (attempt %s): %s", label, number, type(error).__name__)
            await clock.sleep(compute_backoff(number, base=_FIRST_PAUSE, factor=2, longest=_LONGEST_PAUSE))
    raise AssertionError


async def read_queue(queue: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    """Yield what comes into a queue."""
    while True:
        yield await queue.get()
