"""Work that a node gives itself: a tick of a schedule or an event of a topic is a request in its own queue."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from pydantic import JsonValue

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.requests import Delivery, MeshRequest
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.offer import Offer, OfferedRunnable
from tactician.mesh.nodes.work import NodeWork
from tactician.platform import Platform

_LONGEST_ID: Final = 300
_CLAIMED_FOR: Final = 86_400.0
"""Seconds for which an instance with a store of its own keeps the others from the same work."""


@frozen(kw_only=True)
class OwnTask:
    """Piece of work that a node gives itself.

    Attributes:
        id: its id: the same id is the same work, for all instances of the node.
        capability: name of the offer that does it.
        input: its input.
        hops: nodes that have led to it, outermost first.
        publish_to: topic of the result.
    """

    id: str
    capability: str
    input: JsonValue
    hops: tuple[str, ...] = ()
    publish_to: str | None = None


class OwnWork:
    """Work that a node gives itself.

    Args:
        node: name of the node.
        platform: the platform of the runs.
        mesh: the connection.
        offers: what the node can do, by name.
        is_shared: true when all instances have the same store, which lets each piece of work run once.
    """

    def __init__(
        self,
        node: str,
        platform: Platform,
        mesh: MeshConnection,
        offers: dict[str, OfferedRunnable],
        *,
        is_shared: bool,
    ) -> None:
        self._node = node
        self._platform = platform
        self._mesh = mesh
        self._offers = offers
        self._is_shared = is_shared

    def add(self, name: str, work: object, watcher: NodeWork, publish_to: str | None) -> Offer:
        """Add what nobody else may ask for, and return its offer.

        Raises:
            ConfigurationError: when the name is taken, or the result is for a topic of a mesh that has none.
        """
        if name in self._offers:
            raise ConfigurationError(f"{self._node} has {name!r} already: give it another name")
        if publish_to is not None and not self._mesh.transport.has_topics:
            raise ConfigurationError(f"{self._mesh.transport.label} has no topics: leave out publish_to")
        offered = OfferedRunnable(self._node, Offer.of(work, name=name, is_public=False), watcher)
        self._platform.register_internal(offered)
        self._offers[name] = offered
        return offered.offer

    async def start(self, intake: Intake, task: OwnTask) -> bool:
        """Start a piece of work, unless an instance of the node has; return whether it was started now.

        Raises:
            RequestRejectedError: when too many requests wait.
            TransportError: when the broker does not answer.
            StoreError: when the store does not answer.
        """

        async def is_free() -> bool:
            if self._is_shared or not self._mesh.transport.has_claims:
                return True
            return await self._mesh.transport.claim(f"{self._mesh.realm}/{task.id}", _CLAIMED_FOR)

        topic = task.publish_to
        request = MeshRequest(
            id=task.id if len(task.id) <= _LONGEST_ID else sha256(task.id.encode()).hexdigest(),
            sender=self._node,
            recipient=self._node,
            capability=task.capability,
            input=task.input,
            hops=task.hops,
            delivery=Delivery.store() if topic is None else Delivery.topic(topic),
        )
        return await intake.take_own(request, is_free)
