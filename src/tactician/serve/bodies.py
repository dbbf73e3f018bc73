"""Bodies of requests: read up to a length, before an application gets the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import Final
from weakref import WeakValueDictionary

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.serve.problems import ApiError, describe_problem

_NO_UPLOADS: Final[Mapping[str, int]] = MappingProxyType({})
_PARALLEL_UPLOADS: Final = 4
_MOST_IN_MEMORY: Final = 1_000_000
"""Bytes of an upload that are in memory until all of it has come."""
_MOST_DIGITS: Final = 18


class BodyLimit:
    """Middleware that refuses requests with bodies that are too long, whether they say so or not.

    Args:
        app: the application, which gets requests once their bodies have come.
        max_bytes: bytes of a body.
        uploads: bytes of a body at paths with a limit of their own. Few of these bodies are in memory at a time. A body
            is in a temporary file until all of it has come, so that a slow sender keeps nobody else waiting; and a
            person sends few at a time.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, uploads: Mapping[str, int] = _NO_UPLOADS) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._uploads = uploads
        self._upload_turns = asyncio.Semaphore(_PARALLEL_UPLOADS)
        self._senders: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] != "POST" or (most := self._uploads.get(path)) is None:
            await self._pass_on(scope, receive, send, self._max_bytes)
            return
        async with self._senders.setdefault(_name_sender(scope), asyncio.Semaphore(_PARALLEL_UPLOADS)):
            await self._pass_upload_on(scope, receive, send, most)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        body = bytearray()
        if await _receive(scope, receive, send, most, body.extend):
            await self._app(scope, _replay(bytes(body), receive), send)

    async def _pass_upload_on(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        with SpooledTemporaryFile(_MOST_IN_MEMORY) as file:
            if await _receive(scope, receive, send, most, file.write):
                async with self._upload_turns:
                    file.seek(0)
                    await self._app(scope, _replay(file.read(), receive), send)


def _name_sender(scope: Scope) -> str:
    """Return the name of the person who sends a request; empty where nobody has tokens."""
    return getattr(scope.get("person"), "name", "")


async def _receive(scope: Scope, receive: Receive, send: Send, most: int, add: Callable[[bytes], object]) -> bool:
    """Receive a body, and return whether all of it has come. A body that is too long is refused."""
    try:
        return await _read(Headers(scope=scope), receive, most, add)
    except ApiError as error:
        await describe_problem(error)(scope, receive, send)
        return False


async def _read(headers: Headers, receive: Receive, most: int, add: Callable[[bytes], object]) -> bool:
    """Add the parts of a body; return false when the caller leaves before all of it has come.

    Raises:
        ApiError: when it is too long.
    """
    refusal = ApiError(413, f"The body must not be longer than {most} bytes.")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > _MOST_DIGITS or int(length) > most:
        raise refusal
    size, has_more = 0, True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return False
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise refusal
        add(part)
        has_more = message.get("more_body", False)
    return True


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body that was read, and then what else comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay
