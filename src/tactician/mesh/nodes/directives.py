"""Directives of a node: kept over restarts, sent on to those who come later, and shown to the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

from tactician.errors import DocumentConflictError, StoreError
from tactician.events.bus import EventEmitter
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import DirectiveReceived
from tactician.mesh.messages.directives import DirectiveMessage
from tactician.mesh.nodes.offer import Offer
from tactician.mesh.retention import DIRECTIVES
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform
from tactician.prompts.contributors import Directive
from tactician.stores.document import StoredDocument

_logger = get_logger(__name__)


class NodeDirectives:
    """Directives of a node.

    Args:
        node: name of the node.
        platform: the platform, whose store keeps them.
        mesh: the connection.
    """

    def __init__(self, node: str, platform: Platform, mesh: MeshConnection) -> None:
        self._node = node
        self._platform = platform
        self._mesh = mesh
        self._end: Callable[[], None] | None = None

    async def start(self) -> None:
        """Take what the store has, and what comes from now on.

        Raises:
            StoreError: when the store does not answer.
        """
        for document in await self._platform.store.find(DIRECTIVES):
            self._mesh.board.note(DirectiveMessage.model_validate(json.loads(document.text)))
        self._end = self._mesh.board.on_change(self._take)

    def stop(self) -> None:
        """Take no more directives."""
        if self._end is not None:
            self._end()

    def find(self, offer: Offer) -> list[Directive]:
        """Return the directives that hold for the work of an offer."""
        targets = {self._node, f"realm:{self._mesh.realm}", f"capability:{offer.name}"}
        return self._mesh.board.list_active(targets.union(f"tag:{tag}" for tag in offer.tags))

    async def send_on(self) -> None:
        """Send on all directives, for a node or a client that has just come."""
        for message in self._mesh.board.list_messages():
            with suppress(TransportError):
                await self._mesh.publish_directive(message)

    def _take(self, message: DirectiveMessage) -> None:
        emitter = EventEmitter(self._platform.services.bus, "", (self._node,), self._mesh.clock)
        emitter.emit(
            DirectiveReceived,
            directive_id=message.id,
            target=message.target,
            sender=message.sender,
            is_withdrawn=message.is_withdrawn,
        )
        self._mesh.spawn(self._save(message))

    async def _save(self, message: DirectiveMessage) -> None:
        """Save a directive, in the place of the one that it withdraws."""
        store, body = self._platform.store, message.model_dump_json(by_alias=True, exclude_defaults=True)
        try:
            await store.delete(DIRECTIVES, message.id)
            with suppress(DocumentConflictError):  # another instance has saved it
                await store.save(StoredDocument(collection=DIRECTIVES, id=message.id, body=body))
        except StoreError as error:
            _logger.warning("%s: a directive was not saved: %s", self._node, error)
