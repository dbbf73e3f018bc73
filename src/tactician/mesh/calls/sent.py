"""Requests that a server sends for its callers: the store has the node of each, so that any server can ask for it."""

from __future__ import annotations

import json
from typing import Final

from tactician.clock import Clock
from tactician.errors import DocumentConflictError, MeshUnavailableError, StoreError
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.requester import Requester, Target
from tactician.mesh.calls.ticket import Ticket, submit_request
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.requests import MeshRequest, RequestUser
from tactician.mesh.transports.transport import TransportError
from tactician.runs import ChatUser, Input
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_SENT: Final = "mesh-sent"
_PRUNE_EVERY: Final = 600.0
_MOST_PRUNED: Final = 1_000
_logger = get_logger(__name__)


@frozen
class SentRequest:
    """Request that was sent for a caller.

    Attributes:
        request: the request, without its input.
        target: the node that was asked.
    """

    request: MeshRequest
    target: Target

    @property
    def user(self) -> str | None:
        """Id of the user that the request works for."""
        return None if self.request.user is None else self.request.user.id


class SentRequests:
    """Requests that were sent for callers.

    Args:
        mesh: the connection.
        store: the store.
    """

    def __init__(self, mesh: MeshConnection, store: DocumentStore) -> None:
        self._mesh = mesh
        self._store = store
        self._requester = Requester(mesh)
        self._prunes_at = 0.0

    @property
    def clock(self) -> Clock:
        """The time."""
        return self._mesh.clock

    async def send(
        self, request_id: str, capability: str, input: Input, *, on: str | None, user: ChatUser | None, **fields: object
    ) -> Ticket:
        """Send a request, and return its ticket once a node has accepted. The same id goes to the same node again.

        Args:
            request_id: id of the request.
            capability: name of the capability.
            input: text, or what has a JSON form.
            on: name of the node; the soonest, when `None`.
            user: the user that the request works for.
            **fields: further fields of the request; `None` for their defaults.

        Raises:
            RequestRejectedError: when the node refuses the request.
            MeshUnavailableError: when no node accepts it.
        """
        sender = None if user is None else RequestUser.of(user)
        request = await self._requester.create_request(
            request_id, capability, input, None, user=sender, reply_to=self._mesh.reply_queue, **fields
        )
        sent = await self.find(request_id) or await self._save(request, on)
        request = request.model_copy(update={"sender": sent.request.sender})
        if (now := self.clock.monotonic()) >= self._prunes_at:
            self._prunes_at = now + _PRUNE_EVERY
            self._mesh.spawn(self._prune())
        return await submit_request(self._mesh, sent.target, request, None, MeshCallOptions(on=sent.target.node), input)

    async def find(self, request_id: str) -> SentRequest | None:
        """Return a request that was sent, or `None`."""
        document = await self._store.load(_SENT, request_id)
        if document is None:
            return None
        saved = json.loads(document.text)
        target = self._requester.name_target(saved["node"], saved["realm"])
        return SentRequest(MeshRequest.model_validate(saved["request"]), target)

    def create_ticket(self, sent: SentRequest) -> Ticket:
        """Return the ticket of a request that was sent."""
        return Ticket(self._mesh, sent.target, sent.request)

    async def _prune(self) -> None:
        """Forget old requests whose nodes have answered or forgotten them; others are looked at again later."""
        oldest = self.clock.time() - self._mesh.retention.total_seconds()
        try:
            for document in await self._store.find(_SENT, limit=_MOST_PRUNED):
                sent = None if document.updated_at > oldest else await self.find(document.id)
                if sent is None:
                    continue
                if await self._is_open(sent):
                    await self._store.save(document)
                else:
                    await self._store.delete(_SENT, document.id)
        except (StoreError, DocumentConflictError) as error:
            _logger.warning("%s: old requests are forgotten later: %s", self._mesh.name, error)

    async def _is_open(self, sent: SentRequest) -> bool:
        try:
            report = await self.create_ticket(sent).status()
        except (MeshUnavailableError, TransportError):
            return True  # its node may be down for now
        return report.status in ("queued", "running", "waiting")

    async def _save(self, request: MeshRequest, on: str | None) -> SentRequest:
        """Save the node of a request before it is asked: after a crash in between, the same node is asked again."""
        target = await self._requester.find_target(request.capability, on)
        kept = request.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"input"})
        body = json.dumps({"request": kept, "node": target.node, "realm": target.realm})
        document = StoredDocument(collection=_SENT, id=request.id, name=target.node, body=body, is_closed=True)
        try:
            await self._store.save(document)
        except DocumentConflictError:
            saved = await self.find(request.id)
            assert saved is not None
            return saved
        return SentRequest(request, target)
