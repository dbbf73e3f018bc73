"""Values that are too large for a message: they go through a store, and the message has their key (claim check)."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from tactician.errors import RequestRejectedError
from tactician.events.event import new_id
from tactician.mesh.messages.bounds import JsonObject
from tactician.mesh.messages.message import MAX_BYTES, QUEUED_WINDOW
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_VALUES: Final = "mesh-values"
_LARGEST: Final = MAX_BYTES // 2
"""Bytes of JSON of the largest value that is sent in a message, which has other fields too."""
_LONGEST_LETTER: Final = 6
"""Bytes of JSON of the longest character, an escape."""


class ValueStore:
    """Store of values that are too large for a message.

    Args:
        store: the document store, if the mesh has one.
    """

    def __init__(self, store: DocumentStore | None) -> None:
        self._store = store

    async def pack(self, value: JsonValue, field: str) -> JsonObject:
        """Return the fields of a message for a value: the value, or its key.

        Args:
            value: the value.
            field: name of the field of the value, such as `"input"`.

        Raises:
            RequestRejectedError: when it is too large, and there is no store.
        """
        if isinstance(value, str) and len(value) * _LONGEST_LETTER <= _LARGEST:
            return {field: value}
        if (size := len(to_json(value))) <= _LARGEST:
            return {field: value}
        if self._store is None:
            raise RequestRejectedError(
                f"The {field} has {size:,} bytes. Above {_LARGEST:,} bytes it goes through a store that all nodes "
                "of the mesh share: Mesh(..., store=...)",
                "too_large",
            )
        key = new_id()
        body = json.dumps(value)
        await self._store.save(StoredDocument(collection=_VALUES, id=key, body=body, is_closed=True))
        return {f"{field}_reference": key}

    async def prune(self, seconds: float) -> None:
        """Delete the values of messages that nobody can ask for: older than a retention, and the wait in a queue.

        Raises:
            StoreError: when the store does not answer.
        """
        if self._store is not None:
            await self._store.prune(_VALUES, seconds + QUEUED_WINDOW)

    async def unpack(self, value: JsonValue, reference: str | None) -> JsonValue:
        """Return the value of a message.

        Raises:
            RequestRejectedError: when its store has no such value.
        """
        if reference is None:
            return value
        document = None if self._store is None else await self._store.load(_VALUES, reference)
        if document is None:
            raise RequestRejectedError(
                f"The message refers to the value {reference!r}, which the store of this mesh does not have: all nodes "
                "need the same Mesh(..., store=...)",
                "too_large",
            )
        loaded: JsonValue = json.loads(document.text)
        return loaded
