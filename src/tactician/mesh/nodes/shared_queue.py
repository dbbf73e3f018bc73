"""Queue that the instances of a node share with their store: what waits there is what each of them has to know."""

from __future__ import annotations

from collections.abc import Mapping

from tactician.mesh.connection import MeshConnection
from tactician.mesh.nodes.load import NodeLoad
from tactician.mesh.nodes.offer import OfferedRunnable
from tactician.platform import Platform
from tactician.runs import RunStatus
from tactician.runs.progress.store import RunStore
from tactician.stores.document import PRIORITY_AGEING


class SharedQueue:
    """Requests that wait in the store for any instance of a node.

    Args:
        node: name of the node.
        instance: id of this instance.
        platform: the platform of the runs.
        mesh: the connection.
        offers: what the node offers, by name.
        load: the load of this instance.
        is_shared: true when the instances share the store.
    """

    def __init__(
        self,
        node: str,
        instance: str,
        platform: Platform,
        mesh: MeshConnection,
        offers: Mapping[str, OfferedRunnable],
        load: NodeLoad,
        *,
        is_shared: bool,
    ) -> None:
        self._node = node
        self._instance = instance
        self._runs = RunStore(platform.store)
        self._mesh = mesh
        self._offers = offers
        self._load = load
        self._is_shared = is_shared

    async def recount(self) -> None:
        """Count what waits at all instances. An instance that is alone knows that without its store."""
        if not self._is_shared or not self._has_others():
            return
        names = {offered.name: name for name, offered in self._offers.items()}
        records = await self._runs.find(statuses=[RunStatus.NOT_STARTED.value], names=list(names))
        self._load.replace_waiting(
            {
                record.idempotency_key: (
                    (record.wakes_at or record.updated_at) - record.priority * PRIORITY_AGEING,
                    names[record.name],
                )
                for record in records
                if record.idempotency_key is not None and not record.is_leased
            }
        )

    def _has_others(self) -> bool:
        return any(
            (card.node, card.realm) == (self._node, self._mesh.realm) and card.instance != self._instance
            for card in self._mesh.directory.list_cards()
        )
