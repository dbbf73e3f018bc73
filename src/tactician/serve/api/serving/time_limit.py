"""Time limit of requests: a body that does not come, and an answer that does not come."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tactician.serve.problems import ApiError, describe_problem

_KEY: Final = "tactician.time_limit"
_STREAM: Final = "text/event-stream"


class RequestTimeLimit:
    """Middleware that ends requests which take too long. Streams of events may take any time.

    A body that has not come in time has the status 408, an answer 504.

    Args:
        app: what is limited.
        seconds: time of a request, from its headers to the end of its answer.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request in the time that it may take."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_body = has_begun = False

        async def read() -> Message:
            nonlocal has_body
            message = await receive()
            has_body = has_body or not message.get("more_body", False)
            return message

        async def answer(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                if Headers(raw=message.get("headers", [])).get("content-type", "").startswith(_STREAM):
                    lift_time_limit(scope)
            await send(message)

        limit = scope[_KEY] = asyncio.timeout(self._seconds)
        try:
            async with limit:
                await self._app(scope, read, answer)
        except TimeoutError:
            if not limit.expired():
                raise
            if not has_begun:
                await describe_problem(self._describe(has_body))(scope, receive, send)

    def _describe(self, has_body: bool) -> ApiError:
        if has_body:
            return ApiError(504, f"There is no answer after {self._seconds:g} s. What the request started continues.")
        return ApiError(408, f"The body did not come within {self._seconds:g} s.", {"connection": "close"})


def lift_time_limit(scope: Scope) -> None:
    """Let a request take any time from now on."""
    limit = scope.get(_KEY)
    if isinstance(limit, asyncio.Timeout) and not limit.expired():
        limit.reschedule(None)
