"""Progress of the work on requests, which callers hear of while they wait."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Final

from tactician.events import Event
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.bounds import MessageError
from tactician.mesh.messages.message import MAX_TEXT
from tactician.mesh.messages.replies import ProgressReport
from tactician.mesh.transports.transport import TransportError
from tactician.secrets import mask_secrets

_MOST_UNSENT: Final = 100
_WORK_DEPTH: Final = 2
"""Depth of the offered work in the path of an event: its own start and end are no progress."""


class ProgressReporter:
    """Listener of the run of a request: each event that a log shows by default becomes a report to the caller.

    Args:
        mesh: the connection.
        node: name of the node.
        request_id: id of the request.
        reply_to: queue of the caller.
    """

    def __init__(self, mesh: MeshConnection, node: str, request_id: str, reply_to: str) -> None:
        self._mesh = mesh
        self._node = node
        self._request_id = request_id
        self._reply_to = reply_to
        self._unsent: deque[str] = deque(maxlen=_MOST_UNSENT)  # a slow broker loses the oldest
        self._is_sending = False
        self._loop = asyncio.get_running_loop()

    def __call__(self, event: Event) -> None:
        """Take an event, which may come from another thread."""
        if event.level >= logging.INFO and len(event.path) > _WORK_DEPTH:
            message = mask_secrets(f"{event.path[-1]}: {event.describe()}")
            self._loop.call_soon_threadsafe(self._add, message[:MAX_TEXT])

    def _add(self, message: str) -> None:
        self._unsent.append(message)
        if not self._is_sending:
            self._is_sending = True
            self._mesh.spawn(self._send())

    async def _send(self) -> None:
        try:
            while self._unsent:
                report = ProgressReport(request_id=self._request_id, node=self._node, message=self._unsent.popleft())
                with suppress(TransportError, MessageError):
                    await self._mesh.send(self._reply_to, report)
        finally:
            self._is_sending = False
