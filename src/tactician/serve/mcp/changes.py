"""Notices of changed lists, for clients of both protocol eras."""

from __future__ import annotations

import asyncio
from collections import deque

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ResourcesListChanged, ToolsListChanged

from tactician.serve.mcp.caller import RequestContext
from tactician.serve.mcp.limits import REMEMBERED


class ChangeNotices:
    """Notices that the lists of tools, prompts and resources have changed.

    Clients of the new era listen for them; those of the old era that have connected get them all.

    Attributes:
        bus: bus for clients that listen.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: deque[ServerSession] = deque(maxlen=REMEMBERED)
        self._sending: set[asyncio.Task[None]] = set()

    async def greet(self, request: RequestContext, params: types.NotificationParams) -> None:
        """Remember a client of the old era that has connected."""
        self._sessions.append(request.session)

    def announce(self) -> None:
        """Send the notices in the background; nobody can hear them where no event loop runs."""
        try:
            task = asyncio.get_running_loop().create_task(self._send())
        except RuntimeError:
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
