"""Bookmarks of a node, in the store of its platform: how far its schedules and topics were followed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from tactician.errors import DocumentConflictError
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_BOOKMARKS: Final = "mesh-bookmarks"


class Bookmarks:
    """Times up to which the sources of a node's own work were followed. They only move on.

    Args:
        store: the store.
        owner: realm and name of the node.
    """

    def __init__(self, store: DocumentStore, owner: str) -> None:
        self._store = store
        self._owner = owner

    async def load(self, source: str) -> float | None:
        """Return the time of a source, or `None` for a source that is new.

        Raises:
            StoreError: when the store does not answer.
        """
        document = await self._store.load(_BOOKMARKS, f"{self._owner}/{source}")
        return None if document is None else float(json.loads(document.text)["time"])

    async def advance(self, source: str, time: float) -> None:
        """Move the time of a source on. What another instance saves at the same moment is as good.

        Raises:
            StoreError: when the store does not answer.
        """
        key, body = f"{self._owner}/{source}", json.dumps({"time": time})
        document = await self._store.load(_BOOKMARKS, key)
        if document is None:
            changed = StoredDocument(collection=_BOOKMARKS, id=key, body=body)
        elif json.loads(document.text)["time"] < time:
            changed = replace(document, body=body)
        else:
            return
        try:
            await self._store.save(changed)
        except DocumentConflictError:
            return
