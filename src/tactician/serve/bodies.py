"""Bodies of requests: read up to a length, before an application gets the request."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.serve.problems import ApiError, describe_problem


class BodyLimit:
    """Middleware that refuses requests with bodies that are too long, whether they say so or not.

    Args:
        app: the application, which gets requests once their bodies have come.
        max_bytes: bytes of a body.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(Headers(scope=scope), receive)
        except ApiError as error:
            await describe_problem(error)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_bytes:
            raise self._refuse()
        body, has_more = bytearray(), True
        while has_more:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._max_bytes:
                raise self._refuse()
            has_more = message["type"] == "http.request" and message.get("more_body", False)
        return bytes(body)

    def _refuse(self) -> ApiError:
        return ApiError(413, f"The body must not be longer than {self._max_bytes} bytes.")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body that was read, and then what else comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay
