"""Cache of replies: a caller takes an earlier reply to the same input, if it is not too old."""

from __future__ import annotations

import json
from hashlib import sha256

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.errors import DocumentConflictError
from tactician.frozen import frozen
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.requester import to_json
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import ReplyReused
from tactician.mesh.retention import REPLIES, prune_replies
from tactician.runs import ChatUser, Input, RunContext
from tactician.stores.document import StoredDocument


@frozen
class EarlierReply:
    """Output of an earlier reply.

    Attributes:
        output: the output.
    """

    output: JsonValue


class ReplyCache:
    """Cache of the replies to the calls of a platform, in its store, or else in the memory of the mesh.

    Replies are kept for each user, for whom the work was done.

    Args:
        mesh: the connection.
        capability: name of the capability.
        options: the options of the call, with a `max_age`.
        context: context of the run.
    """

    def __init__(self, mesh: MeshConnection, capability: str, options: MeshCallOptions, context: RunContext) -> None:
        assert options.max_age is not None
        self._store = context.store if context.is_durable else mesh.replies
        self._capability = capability
        self._options = options
        self._max_age = options.max_age.total_seconds()
        self._context = context
        self._mesh = mesh
        self._clock = mesh.clock
        self._realm = mesh.realm

    async def find(self, input: Input) -> EarlierReply | None:
        """Return an earlier reply, unless no reply is kept, it is too old, or the request was sent already."""
        if self._context.checkpoint is not None and self._context.checkpoint.data.get("task"):
            return None
        document = await self._store.load(REPLIES, self._name(input))
        if document is None:
            return None
        saved = json.loads(document.text)
        if (age := self._clock.time() - saved["at"]) > self._max_age:
            return None
        self._context.emit(ReplyReused, capability=self._capability, age=max(0.0, age), max_age=self._max_age)
        return EarlierReply(saved["output"])

    async def keep(self, input: Input, output: object) -> None:
        """Keep a reply in place of an earlier one."""
        name = self._name(input)
        body = json.dumps({"output": to_jsonable_python(output), "at": self._clock.time()})
        earlier = await self._store.load(REPLIES, name)
        document = StoredDocument(
            collection=REPLIES,
            id=name,
            name=self._capability,
            body=body,
            version=0 if earlier is None else earlier.version,
            is_closed=True,
        )
        try:
            await self._store.save(document)
        except DocumentConflictError:
            return  # another call has kept its reply
        await prune_replies(self._mesh, self._store)

    def _name(self, input: Input) -> str:
        """Return the key: who asks whom for what, and the caller's key or the input."""
        user, options = self._context.find(ChatUser), self._options
        key = options.cache_key if options.cache_key is not None else to_json(input)
        parts = [self._realm, options.on, self._capability, options.version, None if user is None else user.id, key]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
