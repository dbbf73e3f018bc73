"""JSON over HTTP: one pooled session per event loop, and a typed error for every failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING

from pydantic_core import from_json, to_json

from tactician.errors import (
    AuthenticationError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ModelTimeoutError,
    429: RateLimitError,
    529: RateLimitError,
}
_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession]]] = {}


async def session() -> ClientSession:
    """The session of the running event loop. It is closed when the loop shuts down."""
    current = _sessions.get(loop := asyncio.get_running_loop())
    if current is None:
        # A loop closes every suspended async generator before it ends: so nobody has to close the session.
        keeper = _session_until_shutdown(loop)
        current = _sessions[loop] = (await anext(keeper), keeper)
    return current[0]


async def _session_until_shutdown(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[ClientSession]:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    connector = TCPConnector(limit=0, keepalive_timeout=60)
    no_timeout = ClientTimeout(total=None)
    async with ClientSession(connector=connector, timeout=no_timeout, cookie_jar=DummyCookieJar()) as opened:
        try:
            yield opened
        finally:
            _sessions.pop(loop, None)


async def post_json(url: str, body: object, headers: Mapping[str, str], seconds: float, model: str) -> object:
    """Posts a JSON body and returns the JSON answer; `seconds` limits the whole exchange.

    Raises:
        ModelError: of the kind that fits the failure.
    """
    async with _exchange(url, body, headers, seconds, model, whole=True) as response:
        content = await response.read()
    try:
        value: object = from_json(content)
    except ValueError as error:
        raise MalformedResponseError(f"{model}: the answer is not JSON: {_excerpt(content)}", model=model) from error
    return value


async def post_stream(
    url: str, body: object, headers: Mapping[str, str], seconds: float, model: str
) -> AsyncGenerator[bytes]:
    """Posts a JSON body and yields the bytes of the answer; `seconds` limits each wait.

    Raises:
        ModelError: of the kind that fits the failure.
    """
    async with _exchange(url, body, headers, seconds, model, whole=False) as response:
        async for chunk in response.content.iter_any():
            yield chunk


@asynccontextmanager
async def _exchange(
    url: str, body: object, headers: Mapping[str, str], seconds: float, model: str, *, whole: bool
) -> AsyncGenerator[ClientResponse]:
    from aiohttp import ClientError, ClientTimeout

    limits = ClientTimeout(total=seconds) if whole else ClientTimeout(sock_connect=seconds, sock_read=seconds)
    try:
        async with (await session()).post(url, data=to_json(body), headers=headers, timeout=limits) as response:
            if response.status >= 400:
                raise _error(response.status, response.headers, await response.read(), model)
            yield response
    except TimeoutError as error:
        raise ModelTimeoutError(f"{model}: no answer within {seconds:g} s", model=model) from error
    except ClientError as error:
        raise ModelConnectionError(f"{model}: cannot reach {_origin(url)}: {error}", model=model) from error


def _error(status: int, headers: Mapping[str, str], content: bytes, model: str) -> ModelError:
    message, code = _explanation(content)
    kind = _BY_STATUS.get(status, ModelServerError if status >= 500 else ModelRequestError)
    if kind is ModelRequestError and ("context_length" in code or "exceed_context" in code):
        kind = ContextLengthError
    return kind(f"{model}: HTTP {status}: {message}", model=model, status=status, retry_after=_retry_after(headers))


def _explanation(content: bytes) -> tuple[str, str]:
    try:
        error = from_json(content)["error"]
        return str(error["message"]), f"{error.get('code') or ''} {error.get('type') or ''}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return _excerpt(content), ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


def _excerpt(content: bytes) -> str:
    return content[:300].decode("utf-8", "replace").strip() or "(empty)"


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
