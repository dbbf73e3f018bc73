"""Ledger of the requests that a node has accepted, in the store of its platform: no accepted request is forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Final

from tactician.errors import DocumentConflictError
from tactician.frozen import frozen
from tactician.mesh.messages.replies import MeshReply
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.retention import REQUESTS
from tactician.stores import DocumentStore
from tactician.stores.document import Lease, StoredDocument

_LAST: Final = 10
"""Number of earlier requests of which a reply is taken; others have failed."""
_LOOK_AGAIN: Final = 30.0
"""Seconds after which an instance looks whether a request was forgotten by the instance that has accepted it."""


@frozen(kw_only=True)
class LedgerEntry:
    """Request that was accepted.

    Attributes:
        request: the request.
        trace_parent: W3C trace context of the caller.
        accepted_at: time of the acceptance.
        reply: the reply, once it was sent.
        document: the stored document.
    """

    request: MeshRequest
    trace_parent: str | None
    accepted_at: float
    reply: MeshReply | None = None
    document: StoredDocument


class RequestLedger:
    """Requests that a node has accepted.

    Args:
        store: the store.
        node: name of the node.
    """

    def __init__(self, store: DocumentStore, node: str) -> None:
        self._store = store
        self._node = node

    async def add(self, request: MeshRequest, trace_parent: str | None, now: float) -> LedgerEntry:
        """Add a request, and return its entry, which an earlier delivery may have made."""
        fields = {"request": _dump(request), "trace_parent": trace_parent, "accepted_at": now, "reply": None}
        document = StoredDocument(
            collection=REQUESTS,
            id=self._name(request.run_key),
            parent_id=_name_work(request),
            name=self._node,
            status="open",
            body=json.dumps(fields),
            due_at=now + _LOOK_AGAIN,
        )
        try:
            saved = await self._store.save(document)
        except DocumentConflictError:
            earlier = await self.find(request.run_key)
            assert earlier is not None
            return earlier
        return LedgerEntry(request=request, trace_parent=trace_parent, accepted_at=now, document=saved)

    async def find(self, run_key: str) -> LedgerEntry | None:
        """Return the entry of a request, or `None`."""
        document = await self._store.load(REQUESTS, self._name(run_key))
        return None if document is None else _read(document)

    async def find_reply(self, request: MeshRequest, now: float) -> MeshReply | None:
        """Return an earlier reply to the same caller, for the same user, that a request takes in place of new work."""
        if request.caching is None or (work := _name_work(request)) is None:
            return None
        documents = await self._store.find(
            REQUESTS, statuses=["closed"], names=[self._node], parent_id=work, newest_first=True, limit=_LAST
        )
        for entry in map(_read, documents):
            is_new = now - entry.accepted_at <= request.caching.max_age
            if is_new and entry.reply is not None and entry.reply.status == "completed":
                return entry.reply.model_copy(update={"request_id": request.id, "usage": (), "duration": 0.0})
        return None

    async def readdress(self, entry: LedgerEntry, request: MeshRequest) -> None:
        """Note that the caller, who has sent the request again, waits at another address."""
        if request.reply_to == entry.request.reply_to:
            return
        changed = entry.request.model_copy(update={"reply_to": request.reply_to})
        body = json.loads(entry.document.text) | {"request": _dump(changed)}
        await self._save(replace(entry.document, body=json.dumps(body)))

    async def close(self, entry: LedgerEntry, reply: MeshReply) -> None:
        """Note the reply that was sent."""
        body = json.loads(entry.document.text) | {"reply": _dump(reply)}
        changed = replace(entry.document, body=json.dumps(body), status="closed", due_at=None, is_closed=True)
        await self._save(changed)

    async def list_open(self) -> list[LedgerEntry]:
        """Return the requests without a reply."""
        return [_read(document) for document in await self._store.find(REQUESTS, statuses=["open"], names=[self._node])]

    async def claim_forgotten(self, owner: str) -> tuple[LedgerEntry, Lease] | None:
        """Claim a request to look whether its work has ended without a reply."""
        claimed = await self._store.claim(REQUESTS, owner, _LOOK_AGAIN, names=[self._node])
        return None if claimed is None else (_read(claimed[0]), claimed[1])

    async def _save(self, document: StoredDocument) -> None:
        """Save a change, unless another instance has made the same."""
        try:
            await self._store.save(document)
        except DocumentConflictError:
            return

    def _name(self, run_key: str) -> str:
        return f"{self._node}:{run_key}"


def _name_work(request: MeshRequest) -> str | None:
    """Return what requests have in common that take the same reply; `None` for a request that wants new work."""
    caching = request.caching
    if caching is None or (caching.key is None and request.input_reference is not None):
        return None
    user = None if request.user is None else request.user.id
    key = [request.input] if caching.key is None else caching.key
    parts = [request.realm, request.sender, user, request.capability, request.version, key]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _dump(message: MeshRequest | MeshReply) -> object:
    return message.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _read(document: StoredDocument) -> LedgerEntry:
    fields = json.loads(document.text)
    return LedgerEntry(
        request=MeshRequest.model_validate(fields["request"]),
        trace_parent=fields["trace_parent"],
        accepted_at=fields["accepted_at"],
        reply=None if fields["reply"] is None else MeshReply.model_validate(fields["reply"]),
        document=document,
    )
