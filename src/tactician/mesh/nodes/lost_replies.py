"""Questions about replies that runs wait for, in case that a reply was lost: a run without memory cannot ask itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from tactician.clock import pause
from tactician.errors import StoreError
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.requests import StatusQuery
from tactician.mesh.transports.transport import TransportError
from tactician.runs import PendingRequest, RunStatus
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore

_ASK_EVERY: Final = 30.0
_PAGE, _BETWEEN_PAGES = 100, 1.0
_STATUSES: Final = (RunStatus.WAITING.value, RunStatus.RUNNING.value)
_logger = get_logger(__name__)


class LostReplies:
    """Seeker of replies that were lost on their way to runs, as when the instance died that had just taken the reply.

    It asks the nodes that are there for the status of each request, which has the reply once the work has ended.

    Args:
        mesh: the connection.
        store: the store of the platform.
        queue: queue of the node, to which the replies come.
    """

    def __init__(self, mesh: MeshConnection, store: DocumentStore, queue: str) -> None:
        self._mesh = mesh
        self._runs = RunStore(store)
        self._queue = queue

    async def keep_asking(self) -> None:
        """Ask about all that waits, again and again, until it is cancelled."""
        while True:
            await pause(_ASK_EVERY, self._mesh.clock)
            try:
                await self._ask_all()
            except (StoreError, TransportError) as error:
                _logger.warning("%s: lost replies are asked for later: %s", self._queue, error)

    async def _ask_all(self) -> None:
        after: int | None = None
        while records := await self._runs.find(statuses=_STATUSES, limit=_PAGE, after=after):
            for record in records:
                for request in record.header.pending:
                    await self._ask(request)
            if len(records) < _PAGE:
                return
            after = records[-1].number
            await pause(_BETWEEN_PAGES, self._mesh.clock)

    async def _ask(self, request: PendingRequest) -> None:
        withdrawal = request.withdrawal
        if withdrawal is None or request.is_answered or withdrawal.sender != self._queue:
            return
        target = cast("Mapping[str, str]", withdrawal.content)
        if not self._is_there(target):
            return
        query = StatusQuery(request_id=request.id, sender=target["sender"], reply_to=self._queue)
        await self._mesh.send(self._mesh.name_queue(target["node"], target["realm"]), query)

    def _is_there(self, target: Mapping[str, str]) -> bool:
        """Return whether a node is there: questions must not pile up in the queue of a node that is not there."""
        cards = self._mesh.directory.list_cards()
        return not self._mesh.transport.has_topics or any(
            (card.node, card.realm) == (target["node"], target["realm"]) for card in cards
        )
