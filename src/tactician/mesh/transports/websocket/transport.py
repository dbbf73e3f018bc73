"""Transport over WebSockets between programs that know each other's addresses. A sender keeps a message until then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Final

from tactician.clock import SYSTEM_CLOCK, wait_for_event
from tactician.events.event import new_id
from tactician.mesh.messages.signing import MessageSigner
from tactician.mesh.transports.transport import (
    PRIVATE,
    LeasedMessage,
    Transport,
    TransportError,
    is_reserved,
    read_queue,
)
from tactician.mesh.transports.websocket.endpoint import SocketEndpoint
from tactician.mesh.transports.websocket.frames import SocketFrame
from tactician.mesh.transports.websocket.handshake import Socket
from tactician.mesh.transports.websocket.link import SocketLink
from tactician.mesh.transports.websocket.mailbox import SocketMailbox

_NEWS_LAST: Final = 60.0
"""Seconds for which a program that connects later gets the newest message of a topic of the mesh itself."""


class SocketTransport(Transport):
    """Transport over WebSockets, without a broker.

    Each program connects to all addresses. A receiver from the queue of a node listens at the first address
    that is free on its machine. A message stays with its sender until a receiver has acknowledged it.

    Args:
        url: the addresses of the nodes, separated by commas; `?listen=0.0.0.0:7000` names another address to listen at.
        keys: keys of the mesh.
        label: the addresses, without options.

    Raises:
        ConfigurationError: when an address is not valid, or is not of this machine and there is no key.
    """

    has_topics = True
    has_claims = False

    def __init__(self, url: str, keys: Sequence[str], label: str) -> None:
        self.label = label
        self._links: dict[str, list[SocketLink]] = {}
        self._news: dict[str, tuple[bytes, float]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._replays: list[tuple[str, float, asyncio.Queue[bytes]]] = []
        self._mailbox = SocketMailbox(self._tell)
        self._endpoint = SocketEndpoint(url, MessageSigner(keys), new_id(), self._serve)

    async def open(self) -> None:
        """Connect to the programs that are there; the others are tried again and again."""
        await self._endpoint.open()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._endpoint.aclose()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, socket: Socket, peer: str) -> None:
        """Serve another program until its connection ends."""
        link = SocketLink(socket, peer, self._mailbox.handle)
        links = self._links.setdefault(link.peer, [])
        links.append(link)
        self._mailbox.listeners.notify_all()
        for topic, (body, sent_at) in self._news.items():
            if SYSTEM_CLOCK.monotonic() - sent_at < _NEWS_LAST:
                self._spawn(self._post_all(SocketFrame(kind="topic", name=topic), body, [link]))
        for replay in self._replays:
            self._spawn(self._replay(link, *replay))
        try:
            await link.serve()
        finally:
            links.remove(link)
            if not links:
                self._links.pop(link.peer, None)

    async def send(self, queue: str, body: bytes) -> None:
        """Put a message into a queue, which this program keeps until a receiver has acknowledged the message."""
        self._mailbox.add(queue, body)

    async def receive(self, queue: str, *, limit: int, lease: float, wait: float) -> list[LeasedMessage]:
        """Take messages from a queue for some time, wherever they are."""
        if not queue.startswith(PRIVATE):
            await self._endpoint.listen()
        ends_at = SYSTEM_CLOCK.monotonic() + wait
        with self._mailbox.listeners.listen(queue) as changed:
            while True:
                changed.clear()
                taken, ready_in = await self._take(queue, limit, lease)
                left = ends_at - SYSTEM_CLOCK.monotonic()
                if taken or left <= 0:
                    return taken
                await wait_for_event(changed, min(left, ready_in), SYSTEM_CLOCK)

    async def _take(self, queue: str, limit: int, lease: float) -> tuple[list[LeasedMessage], float]:
        """Take messages that are ready, and return also the seconds after which there are more."""
        now, ready_in = SYSTEM_CLOCK.monotonic(), inf
        taken: list[LeasedMessage] = []
        if (local := self._mailbox.broker.look_up(queue)) is not None:
            taken, ready_in = local.take(limit, lease, now), local.ready_at - now
        for link in self._list_links():
            while len(taken) < limit:
                try:
                    answer, body = await link.ask(SocketFrame(kind="take", name=queue, seconds=lease))
                except TransportError:
                    break  # its messages come when it is there again
                if not answer.receipt:
                    ready_in = min(ready_in, inf if answer.seconds is None else answer.seconds)
                    break
                taken.append(LeasedMessage(queue, body, answer.deliveries, (link.peer, answer.receipt)))
        return taken, ready_in

    async def acknowledge(self, message: LeasedMessage) -> None:
        """Remove a message for good."""
        if isinstance(message.receipt, tuple):
            await self._settle(message, SocketFrame(kind="acknowledge"))
        else:
            self._mailbox.broker.find_queue(message.queue).remove(message)

    async def release(self, message: LeasedMessage, delay: float = 0.0) -> None:
        """Give a message back."""
        if isinstance(message.receipt, tuple):
            await self._settle(message, SocketFrame(kind="postpone", seconds=delay))
        else:
            self._mailbox.broker.find_queue(message.queue).postpone(message, SYSTEM_CLOCK.monotonic() + delay)
            self._tell(message.queue)

    async def extend(self, message: LeasedMessage, seconds: float) -> None:
        """Extend the lease of a message."""
        await self.release(message, seconds)

    async def _settle(self, message: LeasedMessage, frame: SocketFrame) -> None:
        """Tell the holder of a message what to do with it."""
        assert isinstance(message.receipt, tuple)
        peer, receipt = message.receipt
        if not (links := self._links.get(peer)):
            raise TransportError(f"{self.label}: the program {peer}, which has sent a message, cannot be reached.")
        await links[-1].ask(frame.model_copy(update={"receipt": receipt}))

    async def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who have subscribed to a topic."""
        self._mailbox.broker.publish(topic, body)
        self._mailbox.broker.keep(topic, body, SYSTEM_CLOCK.time())
        if is_reserved(topic):
            self._news[topic] = body, SYSTEM_CLOCK.monotonic()
        await self._post_all(SocketFrame(kind="topic", name=topic), body)

    @asynccontextmanager
    async def subscribe(self, pattern: str, since: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Subscribe to topics. Each program keeps what it has published itself."""
        unread: asyncio.Queue[bytes] = asyncio.Queue()
        for kept in self._mailbox.broker.find_kept(pattern, since):
            unread.put_nowait(kept.body)
        subscribers = self._mailbox.broker.subscribers
        subscribers.append((pattern, unread))
        if since is not None:
            self._replays.append(replay := (pattern, since, unread))
            for link in self._list_links():
                self._spawn(self._replay(link, *replay))
        try:
            yield read_queue(unread)
        finally:
            subscribers.remove((pattern, unread))
            self._replays = [each for each in self._replays if each[2] is not unread]

    async def _replay(self, link: SocketLink, pattern: str, since: float, unread: asyncio.Queue[bytes]) -> None:
        """Ask another program for what it has published in topics since a time."""
        number = 0
        with suppress(TransportError):  # it is asked again when it is there again
            while True:
                answer, body = await link.ask(SocketFrame(kind="replay", name=pattern, receipt=number, since=since))
                if not (number := answer.receipt):
                    return
                unread.put_nowait(body)

    async def claim(self, key: str, seconds: float) -> bool:
        """Refuse: no program holds the claims of the others.

        Raises:
            TransportError: always.
        """
        raise TransportError(f"{self.label} has no claims: use a transport with a broker")

    def _tell(self, queue: str) -> None:
        """Tell all programs that a queue has changed."""
        self._mailbox.listeners.notify(queue)
        if self._links:
            self._spawn(self._post_all(SocketFrame(kind="changed", name=queue)))

    async def _post_all(self, frame: SocketFrame, body: bytes = b"", links: Sequence[SocketLink] | None = None) -> None:
        chosen = self._list_links() if links is None else links
        await asyncio.gather(*(link.post(frame, body) for link in chosen), return_exceptions=True)

    def _list_links(self) -> list[SocketLink]:
        """Return a connection to each program."""
        return [links[-1] for links in self._links.values() if links]

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
