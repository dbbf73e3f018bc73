"""Retention of what a mesh remembers of requests: as long as a repeated request may come, and no longer."""

from __future__ import annotations

import json
from typing import Final

from tactician.clock import pause
from tactician.errors import StoreError
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.stores import DocumentStore

REQUESTS: Final = "mesh-requests"
"""Collection of the requests that a node has accepted, with their replies."""
REPLIES: Final = "mesh-replies"
"""Collection of the replies that callers may take again."""
DIRECTIVES: Final = "mesh-directives"
"""Collection of the directives that a node keeps for those that come later."""
_PRUNE_EVERY: Final = 600.0
_BATCH: Final = 1_000
_logger = get_logger(__name__)


async def prune_replies(mesh: MeshConnection, store: DocumentStore) -> None:
    """Delete the replies of a caller that are older than the retention, every ten minutes at most.

    Raises:
        StoreError: when the store does not answer.
    """
    now = mesh.clock.monotonic()
    if now >= mesh.prunes_at.get(store, 0.0):
        mesh.prunes_at[store] = now + _PRUNE_EVERY
        await _prune_all(store, REPLIES, mesh.retention.total_seconds())


async def _prune_all(store: DocumentStore, collection: str, seconds: float) -> int:
    deleted = 0
    while (batch := await store.prune(collection, seconds, limit=_BATCH)) > 0:
        deleted += batch
    return deleted


class RecordPruner:
    """Deleter of the records of a node: requests and replies that are older than the retention of its mesh.

    A request without a reply stays, however old it is. Directives go once they have expired.

    Args:
        mesh: the connection, with the retention.
        store: the store of the platform.
    """

    def __init__(self, mesh: MeshConnection, store: DocumentStore) -> None:
        self._mesh = mesh
        self._store = store

    async def prune(self) -> int:
        """Delete what is too old, and return the number of requests that were deleted.

        Raises:
            StoreError: when a store does not answer.
        """
        seconds = self._mesh.retention.total_seconds()
        deleted = await _prune_all(self._store, REQUESTS, seconds)
        for store in (self._store, self._mesh.replies):
            await _prune_all(store, REPLIES, seconds)
        await self._mesh.values.prune(seconds)
        await self._prune_directives()
        return deleted

    async def _prune_directives(self) -> None:
        now = self._mesh.clock.time()
        for document in await self._store.find(DIRECTIVES):
            expires_at = json.loads(document.text).get("expires_at")
            if expires_at is not None and expires_at <= now:
                await self._store.delete(DIRECTIVES, document.id)

    async def keep_pruning(self) -> None:
        """Delete what is too old every ten minutes, until it is cancelled."""
        while True:
            try:
                if deleted := await self.prune():
                    _logger.info("%s: deleted %s requests that were answered long ago", self._mesh.name, deleted)
            except StoreError as error:
                _logger.warning("%s: old requests are deleted later: %s", self._mesh.name, error)
            await pause(_PRUNE_EVERY, self._mesh.clock)
