"""Bodies of requests: read up to a length, before an application gets the request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.serve.problems import ApiError, describe_problem

_NO_UPLOADS: Final[Mapping[str, int]] = MappingProxyType({})
_PARALLEL_UPLOADS: Final = 4
_MOST_DIGITS: Final = 18


class BodyLimit:
    """Middleware that refuses requests with bodies that are too long, whether they say so or not.

    Args:
        app: the application, which gets requests once their bodies have come.
        max_bytes: bytes of a body.
        uploads: bytes of a body at paths with a limit of their own. Few of these bodies are read at a time, and others
            wait for their turn.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, uploads: Mapping[str, int] = _NO_UPLOADS) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._uploads = uploads
        self._upload_turns = asyncio.Semaphore(_PARALLEL_UPLOADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] != "POST" or (most := self._uploads.get(path)) is None:
            await self._pass_on(scope, receive, send, self._max_bytes)
            return
        async with self._upload_turns:
            await self._pass_on(scope, receive, send, most)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        try:
            body = await _read(Headers(scope=scope), receive, most)
        except ApiError as error:
            await describe_problem(error)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send)


async def _read(headers: Headers, receive: Receive, most: int) -> bytes | None:
    """Return the body; `None` when the caller leaves before all of it has come.

    Raises:
        ApiError: when it is too long.
    """
    refusal = ApiError(413, f"The body must not be longer than {most} bytes.")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > _MOST_DIGITS or int(length) > most:
        raise refusal
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            raise refusal
        has_more = message.get("more_body", False)
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body that was read, and then what else comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay
