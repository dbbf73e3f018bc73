"""Cancellations for callers that were killed while they waited: their runs run no more, so the node sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.requests import Cancellation
from tactician.runs.life.withdrawals import claim_withdrawal, finish_withdrawal
from tactician.stores import DocumentStore


class WithdrawalSender:
    """Sender of the cancellations that killed runs of a platform have left.

    Args:
        mesh: the connection.
        store: the store of the platform.
        queue: queue of the node, by which the withdrawals of its runs are found.
        instance: id of the instance, which claims them.
    """

    def __init__(self, mesh: MeshConnection, store: DocumentStore, queue: str, instance: str) -> None:
        self._mesh = mesh
        self._store = store
        self._queue = queue
        self._instance = instance

    async def send_all(self) -> None:
        """Send all cancellations; what cannot be sent now is sent after its lease.

        Raises:
            TransportError: when the broker does not take one.
            StoreError: when the store does not answer.
        """
        while (claimed := await claim_withdrawal(self._store, self._queue, self._instance)) is not None:
            lease, content = claimed
            target = cast("Mapping[str, str]", content)
            cancellation = Cancellation(request_id=lease.id, sender=target["sender"], reason="its caller was killed")
            await self._mesh.send(self._mesh.name_queue(target["node"], target["realm"]), cancellation)
            await finish_withdrawal(self._store, lease)
