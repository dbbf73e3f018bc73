"""Type of the bodies of requests, which has to be JSON."""

from __future__ import annotations

from typing import Final

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import ContentTypeNotSupportedError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})


class JsonOnly:
    """Middleware that refuses requests that are not JSON.

    A form of a web page cannot send JSON, so that no page makes a browser send a task.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] == "http" and scope["method"] in _WITH_BODY and not _is_json(Headers(scope=scope)):
            await _refuse(scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_json(headers: Headers) -> bool:
    """Return whether a request has JSON, or no body."""
    if "transfer-encoding" not in headers and headers.get("content-length", "0") == "0":
        return True
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


def _refuse(scope: Scope) -> Response:
    error = ContentTypeNotSupportedError("The content type of a request must be application/json.")
    if scope["path"].removeprefix(scope.get("root_path", "")) == "" or scope["path"].endswith("/"):  # JSON-RPC
        return JSONResponse(build_error_response(None, error))
    return JSONResponse(build_rest_error_payload(error), status_code=415)
