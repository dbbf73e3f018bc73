"""Servers of other protocols inside the application of a platform, behind its guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.people.person import Person, Right
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.time_limit import lift_time_limit
from tactician.serve.problems import ApiError

_RIGHTS: Final[tuple[Right, ...]] = ("start", "answer")


def check_rights(person: Person) -> None:
    """Check that a person may use another protocol, with which all can be asked for that the protocol has.

    Raises:
        ApiError: when the person may not.
    """
    if missing := [right for right in _RIGHTS if right not in person.rights]:
        raise ApiError(403, f"This needs the right {missing[0]!r}.")


class MountedServer:
    """Server of another protocol. It ends its streams when the application stops.

    What a request asks for is in its body, in the words of the protocol. So callers need the rights to start
    runs and to answer requests; roles are checked where a request requires one.

    Args:
        app: the server.
        server: the server of the platform.
        identify: returns the user of the protocol's library for a person.
    """

    def __init__(self, app: ASGIApp, server: ApiServer, identify: Callable[[Person], object]) -> None:
        self._app = app
        self._server = server
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, as long as the application runs.

        Raises:
            ApiError: when the caller has no right to do so.
        """
        person: Person = scope["person"]
        check_rights(person)
        lift_time_limit(scope)
        await self._serve({**scope, "user": self._identify(person)}, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def answer(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        serving = asyncio.create_task(self._run(scope, receive, answer))
        stopped = asyncio.create_task(self._server.streams.wait_stopped())
        try:
            await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
                return
        finally:
            for task in (serving, stopped):
                task.cancel()
            await asyncio.gather(serving, stopped, return_exceptions=True)
        if not has_begun:
            raise ApiError(503, "The server stops.", {"retry-after": "1"})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
