"""Subscriptions of a node: each event of a topic becomes a run, once, also after the node was away."""

from __future__ import annotations

from typing import Final, cast

from pydantic import JsonValue

from tactician.clock import pause
from tactician.errors import RequestRejectedError, StoreError
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.codec import Envelope
from tactician.mesh.messages.directives import TopicEvent
from tactician.mesh.messages.requests import MAX_HOPS
from tactician.mesh.nodes.bookmarks import Bookmarks
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.offer import Offer
from tactician.mesh.nodes.own_work import OwnTask, OwnWork
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform

_SKEW: Final = 120.0
"""Seconds by which the reader begins before its bookmark, as clocks differ and messages pass each other."""
_SAVE_EVERY: Final = 30.0
_LATER: Final = 1.0
_logger = get_logger(__name__)


@frozen(kw_only=True)
class TopicSubscription:
    """Work that a node does for each event of a topic.

    Attributes:
        pattern: pattern of the topics.
        offer: the work.
        publish_to: topic of the results.
    """

    pattern: str
    offer: Offer
    publish_to: str | None = None


class NodeSubscriptions:
    """Subscriptions of an instance of a node.

    Args:
        node: name of the node.
        platform: the platform, whose store keeps how far the topics were followed.
        mesh: the connection.
        work: starts the work.
        intake: the queue of the node.
    """

    def __init__(self, node: str, platform: Platform, mesh: MeshConnection, work: OwnWork, intake: Intake) -> None:
        self._node = node
        self._mesh = mesh
        self._work = work
        self._intake = intake
        self._bookmarks = Bookmarks(platform.store, f"{mesh.realm}/{node}")
        self._subscriptions: list[TopicSubscription] = []

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of the topics."""
        return tuple(subscription.pattern for subscription in self._subscriptions)

    def add(self, subscription: TopicSubscription) -> None:
        """Add a subscription."""
        self._subscriptions.append(subscription)

    async def start(self) -> list[TopicSubscription]:
        """Miss no event from now on, and return the subscriptions, each of which `keep_reading` follows.

        Raises:
            StoreError: when the store does not answer.
        """
        for subscription in self._subscriptions:
            if await self._bookmarks.load(_name_source(subscription)) is None:
                await self._bookmarks.advance(_name_source(subscription), self._mesh.clock.time() + _SKEW)
        return self._subscriptions

    async def keep_reading(self, subscription: TopicSubscription) -> None:
        """Start the work of each event, until it is cancelled."""
        while True:
            try:
                await self._read(subscription)
            except (TransportError, StoreError) as error:
                _logger.warning("%s: %s is read later: %s", self._node, subscription.pattern, error)
            await pause(_LATER, self._mesh.clock)

    async def _read(self, subscription: TopicSubscription) -> None:
        source, clock = _name_source(subscription), self._mesh.clock
        saved = await self._bookmarks.load(source) or clock.time()
        async with self._mesh.open_replay(subscription.pattern, saved - _SKEW) as envelopes:
            async for envelope in envelopes:
                await self._start(subscription, envelope)
                if (now := clock.time()) >= saved + _SAVE_EVERY:
                    await self._bookmarks.advance(source, saved := now)

    async def _start(self, subscription: TopicSubscription, envelope: Envelope) -> None:
        event = cast("TopicEvent", envelope.message)
        if (problem := self._find_problem(subscription.offer, event)) is not None:
            _logger.warning("%s: an event of %s starts no work: %s", self._node, event.topic, problem)
            return
        task = OwnTask(
            id=f"topic/{self._node}/{subscription.pattern}/{envelope.id}",
            capability=subscription.offer.name,
            input=_read_input(event.value),
            hops=event.hops,
            publish_to=subscription.publish_to,
        )
        while True:
            try:
                await self._work.start(self._intake, task)
            except RequestRejectedError:  # the queue is full: the topic waits, and nothing is lost
                await pause(_LATER, self._mesh.clock)
            else:
                return

    def _find_problem(self, offer: Offer, event: TopicEvent) -> str | None:
        if self._node in event.hops or len(event.hops) >= MAX_HOPS:
            return f"it goes in a circle or through too many nodes: {' → '.join((*event.hops, self._node))}"
        return "; ".join(offer.find_problems(_read_input(event.value))) or None


def _name_source(subscription: TopicSubscription) -> str:
    return f"topic/{subscription.pattern}"


def _read_input(value: JsonValue) -> JsonValue:
    """Return the input for a value: of the reply of a run, its output."""
    if isinstance(value, dict) and value.keys() >= {"request_id", "node", "status", "output"}:
        return value["output"]
    return "" if value is None else value
