"""Replies to messages that were sent with an idempotency key: a message that comes again gets its first reply."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Final

from tactician.errors import DocumentConflictError, LeaseLostError, StoredStateError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.stores import DocumentStore
from tactician.stores.document import Lease, StoredDocument

_COLLECTION: Final = "chat replies"
_SECONDS: Final = 60.0
_MOST: Final = 1000


@frozen
class KeyedReply:
    """Reply to a message with a key, as far as it has come.

    Attributes:
        document: its document.
        heard: number of messages of the user in the conversation before the message.
        texts: texts of the reply; `None` before it is complete.
        failure: why the agent failed, if it did.
        lease: lease of the program that is to get the reply; `None` for a complete reply.
    """

    document: StoredDocument
    heard: int
    texts: tuple[str, ...] | None = None
    failure: str | None = None
    lease: Lease | None = None

    @property
    def is_complete(self) -> bool:
        """True when the reply, or the failure, is known."""
        return self.texts is not None or self.failure is not None


class KeyedReplies:
    """Replies in a store, by session and key.

    Args:
        store: the store.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._owner = new_id()

    async def begin(self, session_id: str, key: str, heard: int) -> KeyedReply | None:
        """Return the reply to a message: complete, or to be got by the caller; `None` while another program gets it.

        Args:
            session_id: id of the session.
            key: key of the message.
            heard: number of messages of the user that the conversation has.
        """
        reply_id = sha256(repr((session_id, key)).encode("utf-8", "surrogatepass")).hexdigest()
        if (stored := await self._store.load(_COLLECTION, reply_id)) is not None:
            return await self._continue(stored)
        document = StoredDocument(
            collection=_COLLECTION, id=reply_id, body=json.dumps({"heard": heard}), parent_id=session_id
        )
        try:
            added, lease = await self._store.add_and_claim(document, self._owner, _SECONDS)
        except DocumentConflictError:  # the same message has come to another program at the same moment
            return None
        return KeyedReply(added, heard, lease=lease)

    async def _continue(self, stored: StoredDocument) -> KeyedReply | None:
        if (reply := _read(stored)).is_complete:
            return reply
        claimed = await self._store.claim(_COLLECTION, self._owner, _SECONDS, id=stored.id)
        return None if claimed is None else replace(_read(claimed[0]), lease=claimed[1])

    async def complete(self, reply: KeyedReply, *, texts: tuple[str, ...] | None, failure: str | None = None) -> None:
        """Store a reply, or a failure, unless another program has taken the message over."""
        body = json.dumps({"heard": reply.heard, "texts": texts, "failure": failure})
        with suppress(LeaseLostError, DocumentConflictError):
            await self._store.save(replace(reply.document, body=body), reply.lease)
        await self.leave(reply)

    async def leave(self, reply: KeyedReply) -> None:
        """Let any program get a reply that is not complete."""
        if reply.lease is not None:
            await self._store.release(reply.lease)

    async def withdraw(self, reply: KeyedReply) -> None:
        """Forget a message that the agent has not heard, so that it may be sent again."""
        await self._store.delete(_COLLECTION, reply.document.id)

    async def forget(self, session_id: str) -> None:
        """Delete the replies of a session."""
        while stored := await self._store.find(_COLLECTION, parent_id=session_id, with_bodies=False, limit=_MOST):
            for document in stored:
                await self._store.delete(_COLLECTION, document.id)


def _read(document: StoredDocument) -> KeyedReply:
    try:
        values = json.loads(document.text)
        texts = values.get("texts")
        return KeyedReply(document, values["heard"], None if texts is None else tuple(texts), values.get("failure"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoredStateError(f"The reply {document.id!r} of a chat cannot be read: {error}") from error
