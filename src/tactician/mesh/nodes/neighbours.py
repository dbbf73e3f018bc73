"""Neighbours of a node: the instances of the mesh that it sees come and go."""

from __future__ import annotations

from tactician.events.bus import EventEmitter
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import NodeJoined, NodeLeft
from tactician.platform import Platform


async def keep_watching(node: str, instance: str, platform: Platform, mesh: MeshConnection) -> None:
    """Tell the listeners of the platform which other instances come and go, until it is cancelled."""
    emitter = EventEmitter(platform.services.bus, "", (node,), mesh.clock)
    present: set[tuple[str, str, str]] = set()
    async for cards in mesh.watch():
        now = {(card.realm, card.node, card.instance) for card in cards if card.instance != instance}
        for realm, name, other in sorted(now - present):
            emitter.emit(NodeJoined, node=name, instance=other, realm=realm)
        for realm, name, other in sorted(present - now):
            emitter.emit(NodeLeft, node=name, instance=other, realm=realm)
        present = now
