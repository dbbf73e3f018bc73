"""Streams that clients of the revision 2025-11-25 resume after their connection has broken."""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from typing import Final

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage
from typing_extensions import override

from tactician.frozen import frozen

RETRY_MS: Final = 2_000
"""Milliseconds after which a client comes back."""
_MOST_CHARACTERS: Final = 50_000_000
"""Characters of messages that all clients together can resume."""
_MOST_OF_A_SESSION: Final = 1_000


@frozen
class _Sent:
    stream: StreamId
    message: JSONRPCMessage | None
    size: int


class SentMessages:
    """Messages that were sent to all clients, as many as fit; the oldest make room for new ones."""

    def __init__(self, most: int = _MOST_CHARACTERS) -> None:
        self._most = most
        self._size = 0
        self._sent: OrderedDict[EventId, _Sent] = OrderedDict()

    def add(self, event_id: EventId, sent: _Sent) -> None:
        """Keep a message."""
        self._sent[event_id] = sent
        self._size += sent.size
        while self._size > self._most:
            _, oldest = self._sent.popitem(last=False)
            self._size -= oldest.size

    def find(self, event_id: EventId) -> _Sent | None:
        """Return a message; `None` when it has made room for others."""
        return self._sent.get(event_id)


class SessionMessages(EventStore):
    """Messages of a single client: nobody resumes the streams of others, whose requests have the same numbers."""

    def __init__(self, messages: SentMessages) -> None:
        self._messages = messages
        self._ids: deque[EventId] = deque(maxlen=_MOST_OF_A_SESSION)

    @override
    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        event_id = secrets.token_urlsafe(12)
        size = 100 if message is None else len(message.model_dump_json())
        self._messages.add(event_id, _Sent(stream_id, message, size))
        self._ids.append(event_id)
        return event_id

    @override
    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        last = self._messages.find(last_event_id) if last_event_id in self._ids else None
        if last is None:
            return None
        ids = list(self._ids)
        for event_id in ids[ids.index(last_event_id) + 1 :]:
            sent = self._messages.find(event_id)
            if sent is not None and sent.stream == last.stream and sent.message is not None:
                await send_callback(EventMessage(sent.message, event_id))
        return last.stream


class ResumableSessions(StreamableHTTPSessionManager):
    """Sessions each of which has messages of its own; the SDK has the same for all."""

    sent: SentMessages

    @property
    def event_store(self) -> EventStore:
        """The messages of the session that is made next."""
        return SessionMessages(self.sent)

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """Leave out what the SDK sets."""


def make_resumable(manager: StreamableHTTPSessionManager) -> None:
    """Let the clients of a server resume their streams."""
    vars(manager).pop("event_store", None)
    manager.__class__ = ResumableSessions
    assert isinstance(manager, ResumableSessions)
    manager.sent = SentMessages()
    manager.retry_interval = RETRY_MS
