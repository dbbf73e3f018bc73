"""Notices of changed lists and resources, for clients of both protocol eras."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Coroutine
from typing import Final

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from tactician.serve.mcp.limits import MOST_SUBSCRIPTIONS, REMEMBERED
from tactician.serve.mcp.request_context import RequestContext

_LONGEST_URI: Final = 2000


class ChangeNotices:
    """Notices that the lists of tools, prompts and resources have changed, or the content of a resource.

    Clients of the new era listen for them. Clients of the old era get all about lists once they have connected, and
    subscribe to resources.

    Attributes:
        bus: bus for clients that listen.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: deque[ServerSession] = deque(maxlen=REMEMBERED)
        self._subscribers: OrderedDict[int, _Subscriber] = OrderedDict()
        self._sending: set[asyncio.Task[None]] = set()

    async def greet(self, request: RequestContext, params: types.NotificationParams) -> None:
        """Remember a client of the old era that has connected."""
        self._sessions.append(request.session)

    async def subscribe(self, request: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Let a client of the old era hear of changes of a resource.

        Raises:
            MCPError: when it has subscribed to too many.
        """
        key, uri = _find_key(request), str(params.uri)
        subscriber = self._subscribers.setdefault(key, _Subscriber(request.session))
        if len(subscriber.uris) >= MOST_SUBSCRIPTIONS or len(uri) > _LONGEST_URI:
            raise MCPError(types.INVALID_PARAMS, f"A client may subscribe to {MOST_SUBSCRIPTIONS:,} resources.")
        subscriber.uris.add(uri)
        if len(self._subscribers) > REMEMBERED:
            self._subscribers.popitem(last=False)
        return types.EmptyResult()

    async def unsubscribe(self, request: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Let a client of the old era hear no more of a resource."""
        if (subscriber := self._subscribers.get(_find_key(request))) is not None:
            subscriber.uris.discard(str(params.uri))
        return types.EmptyResult()

    def announce(self) -> None:
        """Send the notices about lists in the background; nobody can hear them where no event loop runs."""
        self._spawn(self._send())

    def announce_resource(self, uri: str) -> None:
        """Send the notices about a resource in the same way."""
        self._spawn(self._send_resource(uri))

    def _spawn(self, sending: Coroutine[object, object, None]) -> None:
        try:
            task = asyncio.get_running_loop().create_task(sending)
        except RuntimeError:
            sending.close()
            return
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self) -> None:
        for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
            await self.bus.publish(event)
        for session in tuple(self._sessions):
            await session.send_tool_list_changed()
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()

    async def _send_resource(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri))
        for key, subscriber in tuple(self._subscribers.items()):
            if uri in subscriber.uris:
                try:
                    await subscriber.session.send_resource_updated(uri)
                except Exception:  # the client is gone; the others must hear
                    self._subscribers.pop(key, None)


class _Subscriber:
    """Client of the old era with the resources that it has subscribed to."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.parameters = session.client_params  # kept, so that no other client gets its id
        self.uris: set[str] = set()


def _find_key(request: RequestContext) -> int:
    """Return the key of a client: its session is another with each request, with the same parameters."""
    return id(request.session.client_params)
