"""JSON over HTTP: one pooled session per event loop, and a typed error for every failure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from math import isfinite
from time import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from pydantic_core import from_json, to_json

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
    ThinkingRefusedError,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientTimeout, FormData

_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ModelTimeoutError,
    429: RateLimitError,
    529: RateLimitError,
}
_SHORTEST_KEY = 8
_LONGEST_RETRY_AFTER = 3600.0
# These headers are public; any other may carry a key, because custom providers choose the name.
_PUBLIC_HEADERS = frozenset({"content-type", "accept", "user-agent", "anthropic-version", "anthropic-beta"})
_SECRET_PARAMETER = re.compile(r"key|token|secret|sig|code|auth|password", re.IGNORECASE)
# Phrases of providers, for errors whose code does not tell.
_TOO_LONG = re.compile(r"context.?length|exceed.context|context window|prompt is too long", re.IGNORECASE)
# OpenAI reports foreign thinking with a code, Anthropic and Google in words only.
_NOT_OURS = re.compile(
    r"invalid_encrypted_content|invalid .?signature.? in .?thinking.? block|thought.?signature", re.IGNORECASE
)
_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession]]] = {}


@dataclass(frozen=True, slots=True)
class FormField:
    """Field of a form; with a `filename`, a file of the `media_type`."""

    name: str
    value: str | bytes = field(repr=False)
    filename: str | None = None
    media_type: str | None = None


async def session() -> ClientSession:
    """Return the session of the running event loop. It is closed when the loop shuts down."""
    current = _sessions.get(loop := asyncio.get_running_loop())
    if current is None:
        # A loop closes every suspended async generator before it ends, so no caller has to close the session.
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


def post_json(
    url: str, body: object, headers: Mapping[str, str], seconds: float, model: str
) -> Coroutine[object, object, object]:
    """Post a JSON body and return the JSON answer; `seconds` limits the whole exchange.

    Raises:
        ModelError: of the class that matches the failure.
    """
    return _exchange(url, to_json(body), headers, seconds, model)


async def post_form(
    url: str, fields: Iterable[FormField], headers: Mapping[str, str], seconds: float, model: str
) -> object:
    """Post a form (RFC 7578) and return the JSON answer; `seconds` limits the whole exchange.

    Raises:
        ModelError: of the class that matches the failure.
    """
    from aiohttp import FormData

    form = FormData(default_to_multipart=True)
    for one in fields:
        form.add_field(one.name, one.value, filename=one.filename, content_type=one.media_type)
    return await _exchange(url, form, headers, seconds, model)


async def _exchange(url: str, data: bytes | FormData, headers: Mapping[str, str], seconds: float, model: str) -> object:
    limits = _limit_total(seconds)
    try:
        post = (await session()).post(url, data=data, headers=headers, timeout=limits, allow_redirects=False)
        async with post as response:
            content = await response.read()
    except Exception as error:
        if (failure := _find_transport_error(error, url, seconds, model)) is None:
            raise
        raise failure from None  # an error of the client may quote the URL with its key
    if response.status >= 300:
        raise _error(response, content, headers, url, model)
    try:
        answer: object = from_json(content)
    except ValueError as error:
        raise MalformedResponseError(f"{model}: the answer is not JSON: {_excerpt(content)}", model=model) from error
    return answer


async def post_stream(
    url: str, body: object, headers: Mapping[str, str], seconds: float, model: str
) -> AsyncGenerator[bytes]:
    """Post a JSON body and yield the bytes of the answer; `seconds` limits each wait.

    Raises:
        ModelError: of the class that matches the failure.
    """
    limits = _limit_waits(seconds)
    try:
        post = (await session()).post(url, data=to_json(body), headers=headers, timeout=limits, allow_redirects=False)
        async with post as response:
            if response.status >= 300:
                raise _error(response, await response.read(), headers, url, model)
            async for chunk in response.content.iter_any():
                yield chunk
    except Exception as error:
        if (failure := _find_transport_error(error, url, seconds, model)) is None:
            raise
        raise failure from None  # an error of the client may quote the URL with its key


@lru_cache(maxsize=64)
def _limit_total(seconds: float) -> ClientTimeout:
    from aiohttp import ClientTimeout

    return ClientTimeout(total=seconds)


@lru_cache(maxsize=64)
def _limit_waits(seconds: float) -> ClientTimeout:
    from aiohttp import ClientTimeout

    return ClientTimeout(sock_connect=seconds, sock_read=seconds)


def _find_transport_error(error: Exception, url: str, seconds: float, model: str) -> ModelError | None:
    """Return the typed error for a transport failure, or `None` for any other exception."""
    from aiohttp import ClientError

    if isinstance(error, TimeoutError):
        return ModelTimeoutError(f"{model}: no answer within {seconds:g} s", model=model)
    if isinstance(error, ClientError):
        return ModelConnectionError(f"{model}: cannot reach {_origin(url)}: {_reason(error)}", model=model)
    return None


def find_error_class(status: int) -> type[ModelError]:
    """Return the error class for a status of 300 or more."""
    return _BY_STATUS.get(status, ModelServerError if status >= 500 else ModelRequestError)


def _error(response: ClientResponse, content: bytes, sent: Mapping[str, str], url: str, model: str) -> ModelError:
    status, headers = response.status, response.headers
    message, code = _explanation(_without_secrets(content, sent, url))
    kind = find_error_class(status)
    if kind is ModelRequestError and _TOO_LONG.search(f"{code} {message}"):
        kind = ContextLengthError
    if kind is ModelRequestError and _NOT_OURS.search(f"{code} {message}"):
        kind = ThinkingRefusedError
    if kind is ModelRequestError and "content_filter" in code.split():
        kind = ContentFilterError
    if status < 400:
        message = f"moved to {_origin(headers.get('Location', '(nowhere)'))}; redirects are not followed"
    return kind(f"{model}: HTTP {status}: {message}", model=model, status=status, retry_after=_retry_after(headers))


def _explanation(content: bytes) -> tuple[str, str]:
    try:
        error = from_json(content)["error"]
        return str(error["message"]), f"{error.get('code') or ''} {error.get('type') or ''}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return _excerpt(content), ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header, an hour at most; `None` without one that can be read."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), _LONGEST_RETRY_AFTER) if isfinite(seconds) else None


def _excerpt(content: bytes) -> str:
    return content[:300].decode("utf-8", "replace").strip() or "(empty)"


def _without_secrets(content: bytes, headers: Mapping[str, str], url: str) -> bytes:
    """Return an answer without the keys that were sent in headers or the query: a provider may quote them."""
    secrets = [value.rpartition(" ")[2] for name, value in headers.items() if name.lower() not in _PUBLIC_HEADERS]
    secrets += [value for name, value in parse_qsl(urlsplit(url).query) if _SECRET_PARAMETER.search(name)]
    for secret in secrets:
        if len(secret) >= _SHORTEST_KEY:
            content = content.replace(secret.encode(), b"***")
    return content


def _reason(error: Exception) -> str:
    from aiohttp import InvalidURL

    return "this is not a URL" if isinstance(error, InvalidURL) else str(error)


def _origin(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.partition('/')[0].rpartition('@')[2]}"
