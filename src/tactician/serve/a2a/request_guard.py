"""Guard before a server: requests are bounded, and JSON."""

from __future__ import annotations

from typing import Final

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import ContentTypeNotSupportedError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tactician.serve.bodies import read_body, replay_body

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


class RequestGuard:
    """Middleware that refuses requests that are too long, whether they say so or not, or that are not JSON.

    A form of a web page cannot send JSON, so that no page makes a browser send a task.

    Args:
        app: the application.
        max_bytes: bytes of a request.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            await self._app(scope, receive, send)
            return
        body = await read_body(receive, max_bytes=self._max_bytes)
        refusal = self._refuse_length() if body is None else _check_type(scope, body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, replay_body(body or b"", receive), send)

    def _refuse_length(self) -> Response:
        return PlainTextResponse(f"The request is longer than {self._max_bytes:,} bytes.", status_code=413)


def _check_type(scope: Scope, body: bytes) -> Response | None:
    """Return the refusal of a body that is not JSON; `None` when it is, or there is none."""
    media_type = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if not body or media_type == "application/json" or media_type.endswith("+json"):
        return None
    error = ContentTypeNotSupportedError("The content type of a request has to be application/json.")
    if scope["path"].removeprefix(scope.get("root_path", "")) in ("", "/"):
        return JSONResponse(build_error_response(None, error))
    return JSONResponse(build_rest_error_payload(error), status_code=415)
