"""Connection of a program to a mesh."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from types import TracebackType
from typing import Final, Literal, Self
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.mesh.board import DIRECTIVES, DirectiveBoard
from tactician.mesh.call import Calls
from tactician.mesh.circuits import Circuits
from tactician.mesh.directory import CARDS, Directory
from tactician.mesh.hops import MeshHops
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.cards import CapabilityCard, CardQuery, NodeCard
from tactician.mesh.messages.codec import Envelope, MessageCodec
from tactician.mesh.messages.directives import DirectiveMessage, DirectiveReceipt, TopicEvent
from tactician.mesh.messages.message import QUEUED_WINDOW, MeshMessage
from tactician.mesh.pulse import Pulse
from tactician.mesh.queries import CapabilityQuery
from tactician.mesh.transports.addresses import open_transport
from tactician.mesh.transports.transport import PRIVATE, LeasedMessage, Transport, TransportError
from tactician.mesh.values import ValueStore
from tactician.runs import RunContext
from tactician.runs.context.telemetry import find_trace_parent, split_trace
from tactician.stores import DocumentStore, MemoryStore
from tactician.suggestions import suggest_options

_BATCH: Final = 50
_LEASE: Final = 30.0
_WAIT: Final = 5.0
_PAUSE: Final = 0.5
_logger = get_logger(__name__)


@suggest_options
class MeshConnection:
    """Connection to a mesh: it sends and receives messages, and knows the cards of the nodes.

    Args:
        url: address of the transport, see `open_transport`.
        name: name of the client, which replies to requests are addressed to; a random name by default.
        realm: group of nodes under the same administration.
        key: key of the mesh, or several while they are changed: messages are signed with all, and accepted with any.
        store: store for values that are too large for a message; all nodes of the mesh need the same. With Kafka, it
            has the leases of messages, too.
        webhook_secrets: secrets by their names, with which a node signs the replies that it posts.
        retention: time for which the replies to requests are kept, so that a request whose id is repeated is the same
            request. At least seven days, for which a request may wait in a queue.
        clock: the time.

    Attributes:
        instance: id of this connection.
        url: the address, which may have a password.
        name: the name.
        realm: the realm.
        clock: the time.
        transport: the transport.
        directory: the cards of the nodes.
        pulse: what tells whether the broker carries messages.
        board: the directives that hold.
        calls: requests of this program whose replies have not come.
        circuits: circuits of the nodes that this program asks.
        replies: replies that callers without a store may use again.
        prunes_at: times from which old replies are deleted from the stores of callers.
        values: values that are too large for a message.
        webhook_secrets: the secrets.
        retention: the retention.

    Raises:
        ConfigurationError: when the address, a key or the retention is not valid.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        realm: str = "default",
        key: str | Sequence[str] | None = None,
        store: DocumentStore | None = None,
        webhook_secrets: dict[str, str] | None = None,
        retention: timedelta = timedelta(days=30),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.instance = new_id()
        self.url = url
        self.name = name or f"client-{self.instance}"
        self.realm = realm
        self.clock = clock
        if retention.total_seconds() < QUEUED_WINDOW:
            raise ConfigurationError("The retention of a mesh is at least seven days: a request may wait that long.")
        self.retention = retention
        keys = [key] if isinstance(key, str) else list(key or ())
        self.transport: Transport = open_transport(url, clock, keys=keys, store=store)
        self.directory = Directory(clock)
        self.pulse = Pulse(clock, self.directory.renew)
        self.board = DirectiveBoard(clock)
        self.calls = Calls()
        self.circuits = Circuits(clock)
        self.replies = MemoryStore(clock=clock)
        self.prunes_at: WeakKeyDictionary[DocumentStore, float] = WeakKeyDictionary()
        self.values = ValueStore(store)
        self.webhook_secrets = dict(webhook_secrets or {})
        self._codec = MessageCodec(self.name, keys, clock)
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_open = False
        self._attached: dict[int, str] = {}
        self._who_listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport.label!r}, name={self.name!r}, realm={self.realm!r})"

    @property
    def reply_queue(self) -> str:
        """Queue of the replies to this process."""
        return f"{PRIVATE}{self.instance}"

    def resolve(self, context: RunContext) -> MeshConnection:
        """Return the connection itself: see `MeshSource`."""
        return self

    @property
    def state(self) -> Literal["CLOSED", "CONNECTED", "AWAY"]:
        """State of the connection. It is `"AWAY"` while the broker carries no messages; then no card expires."""
        if not self._is_open:
            return "CLOSED"
        return "AWAY" if self.pulse.is_away else "CONNECTED"

    @property
    def has_keys(self) -> bool:
        """True when messages are signed."""
        return self._codec.is_signing

    def name_queue(self, node: str, realm: str | None = None) -> str:
        """Return the queue of a node."""
        return f"{realm or self.realm}/{node}"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def open(self) -> None:
        """Connect, unless that was done; every operation does it by itself.

        Raises:
            TransportError: when the broker cannot be reached.
        """
        async with self._opening:
            if self._is_open:
                return
            await self.transport.open()
            self._is_open = True
            try:
                # The queue has to exist before anybody sends to it.
                await self.transport.receive(self.reply_queue, limit=1, lease=_LEASE, wait=0.0)
                self.spawn(self.receive_from(self.reply_queue, self._take))
                if self.transport.has_topics:
                    await self._join()
            except BaseException:
                await self.aclose()
                raise

    async def _join(self) -> None:
        """Subscribe to the cards, and ask all nodes for theirs."""
        self.directory.is_away = lambda: self.pulse.is_away
        self.spawn(self.pulse.keep_beating(self.transport, self.instance))
        is_ready = asyncio.Event()
        self.spawn(self._read_topic(CARDS, is_ready))
        self.spawn(self._read_topic(DIRECTIVES, has_directives := asyncio.Event()))
        await is_ready.wait()
        await has_directives.wait()
        await self.transport.publish(CARDS, self._codec.encode(CardQuery(sender=self.name)))

    async def aclose(self) -> None:
        """Disconnect."""
        self._is_open = False
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.transport.aclose()

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Do some work until the connection is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def encode(self, message: MeshMessage, trace_parent: str | None = None) -> bytes:
        """Return a message as it is sent.

        Raises:
            MessageError: when it is too large.
        """
        parent, state = split_trace(trace_parent or "")
        return self._codec.encode(message, trace_parent=parent or None, trace_state=state)

    async def send(self, queue: str, message: MeshMessage, trace_parent: str | None = None) -> None:
        """Send a message to a queue.

        Raises:
            TransportError: when the broker does not take it.
            MessageError: when it is too large.
        """
        await self.open()
        await self.transport.send(queue, self.encode(message, trace_parent))

    async def publish(self, topic: str, value: JsonValue) -> None:
        """Publish an event of a topic.

        Raises:
            TransportError: when the broker does not take it.
            MessageError: when it is too large.
        """
        await self.open()
        context = RunContext.find_current()
        hops = None if context is None else context.find(MeshHops)
        event = TopicEvent(topic=topic, sender=self.name, value=value, hops=() if hops is None else hops.nodes)
        await self.transport.publish(topic, self.encode(event, find_trace_parent("")))

    async def publish_card(self, card: NodeCard) -> None:
        """Publish the card of a node, and take it into the directory."""
        self.directory.note(card)
        if self.transport.has_topics:
            await self.transport.publish(CARDS, self.encode(card))

    async def publish_directive(self, directive: DirectiveMessage) -> None:
        """Publish a directive, and take it onto the board.

        Raises:
            ConfigurationError: when the transport has no topics.
            TransportError: when the broker does not take it.
        """
        await self.open()
        if not self.transport.has_topics:
            raise ConfigurationError(f"{self.transport.label} has no topics, which directives need.")
        self.board.note(directive)
        await self.transport.publish(DIRECTIVES, self.encode(directive))

    async def acknowledge_directive(self, receipt: DirectiveReceipt) -> None:
        """Tell everybody what a node has done with a directive.

        Raises:
            TransportError: when the broker does not take it.
        """
        self.board.note_receipt(receipt)
        await self.transport.publish(DIRECTIVES, self.encode(receipt))

    @asynccontextmanager
    async def open_subscription(self, pattern: str) -> AsyncIterator[AsyncIterator[TopicEvent]]:
        """Subscribe to topics; once it is entered, no event is missed. See `subscribe`."""
        await self.open()
        async with self.transport.subscribe(pattern) as messages:
            yield self._read_events(messages)

    @asynccontextmanager
    async def open_replay(self, pattern: str, since: float) -> AsyncIterator[AsyncIterator[Envelope]]:
        """Subscribe to topics from a time on, as far as the transport keeps events. An event may come twice."""
        await self.open()
        async with self.transport.subscribe(pattern, since) as messages:
            yield self._read_envelopes(messages)

    async def _read_envelopes(self, messages: AsyncIterator[bytes]) -> AsyncIterator[Envelope]:
        async for body in messages:
            try:
                envelope = self._codec.decode(body, may_repeat=True)
            except MessageError as error:
                _logger.warning("%s: an event was refused: %s", self.name, error)
                continue
            if isinstance(envelope.message, TopicEvent):
                yield envelope

    async def subscribe(self, pattern: str) -> AsyncIterator[TopicEvent]:
        """Yield the events of topics from now on.

        Args:
            pattern: name of a topic; `*` stands for a part between dots, and `>` at the end for all further parts.
        """
        async with self.open_subscription(pattern) as events:
            async for event in events:
                yield event

    async def _read_events(self, messages: AsyncIterator[bytes]) -> AsyncIterator[TopicEvent]:
        async for body in messages:
            if isinstance(event := self._read(body), TopicEvent):
                yield event

    async def nodes(self) -> list[NodeCard]:
        """Return the cards of the nodes that are there; for the first second, as many as have come."""
        await self.open()
        return sorted(self.directory.list_cards(), key=lambda card: (card.realm, card.node, card.instance))

    async def watch(self) -> AsyncIterator[list[NodeCard]]:
        """Yield the cards of the nodes that are there, and again whenever one comes or goes."""
        await self.open()
        async for cards in self.directory.watch():
            yield cards

    async def capabilities(
        self,
        *,
        name: str | None = None,
        tags: Collection[str] = (),
        any_tags: Collection[str] = (),
        kind: str | None = None,
        version: str | None = None,
        accepts: JsonValue = None,
    ) -> list[CapabilityCard]:
        """Return the capabilities that are offered, each version once.

        Args:
            name: name of the capability; any by default.
            tags: tags that a capability must have, all of them.
            any_tags: tags of which a capability must have any.
            kind: `"task"` or `"tool"`; both by default.
            version: its version; any by default.
            accepts: JSON object that its input schema must take.
        """
        query = CapabilityQuery(
            name=name,
            tags=frozenset(tags),
            any_tags=frozenset(any_tags),
            kind=kind,
            version=version,
            accepts=accepts,
        )
        return await self.find_capabilities(query)

    async def find_capabilities(self, query: CapabilityQuery) -> list[CapabilityCard]:
        """Return the capabilities that a query asks for, each version once."""
        await self.open()
        offered = (offering.capability for offering in self.directory.list_offerings(self.realm, query.name))
        cards: dict[tuple[str, str | None], CapabilityCard] = {}
        for card in offered:
            cards.setdefault((card.name, card.version), card)
        return [card for card in cards.values() if query.matches(card)]

    def attach(self, queue: str, store: DocumentStore) -> None:
        """Let the runs of a store wait for replies in the queue of a node, whose workers continue them."""
        self._attached[id(store)] = queue

    def find_attached(self, store: DocumentStore) -> str | None:
        """Return the queue of a node of this program that continues the runs of a store, if there is one."""
        return self._attached.get(id(store))

    def on_question(self, listener: Callable[[], None]) -> None:
        """Call a listener when somebody asks who is there."""
        self._who_listeners.append(listener)

    async def receive_from(
        self, queue: str, take: Callable[[LeasedMessage], Coroutine[object, object, None]], lease: float = _LEASE
    ) -> None:
        """Take the messages of a queue until the connection is closed. A broker that does not answer is asked again."""
        while True:
            try:
                messages = await self.transport.receive(queue, limit=_BATCH, lease=lease, wait=_WAIT)
                for message in messages:
                    await take(message)
            except TransportError as error:
                _logger.warning("%s: %s", self.name, error)
                await self.clock.sleep(_PAUSE)
            except Exception:  # a message that nobody has thought of must not end the intake of all others
                _logger.exception("%s: a message from %s was not taken", self.name, queue)
                await self.clock.sleep(_PAUSE)
            if self.clock is not SYSTEM_CLOCK:
                await asyncio.sleep(0)

    async def _take(self, leased: LeasedMessage) -> None:
        """Take a message for this process."""
        if (message := self._read(leased.body)) is not None:
            self.calls.note(message)
        await self.transport.acknowledge(leased)

    def _read(self, body: bytes) -> MeshMessage | None:
        """Return a message that somebody has sent, or `None` for what is none of this mesh."""
        try:
            return self.decode(body).message
        except MessageError as error:
            _logger.warning("%s: a message was refused: %s", self.name, error)
            return None

    def decode(self, body: bytes) -> Envelope:
        """Return a message that somebody has sent.

        Raises:
            MessageError: when it is not valid.
        """
        return self._codec.decode(body)

    async def _read_topic(self, topic: str, is_ready: asyncio.Event) -> None:
        """Read the messages of a topic, also while the broker restarts."""
        while True:
            try:
                await self._read_topic_until_broken(topic, is_ready)
            except TransportError as error:
                _logger.warning("%s: %s is read later: %s", self.name, topic, error)
                await self.clock.sleep(_PAUSE)

    async def _read_topic_until_broken(self, topic: str, is_ready: asyncio.Event) -> None:
        async with self.transport.subscribe(topic) as messages:
            is_ready.set()
            async for body in messages:
                match self._read(body):
                    case NodeCard() as card:
                        self.directory.note(card)
                    case DirectiveMessage() as directive:
                        self.board.note(directive)
                    case DirectiveReceipt() as receipt:
                        self.board.note_receipt(receipt)
                    case CardQuery():
                        for listener in self._who_listeners:
                            listener()
