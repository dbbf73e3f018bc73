"""Typed errors for the failures of an exchange over HTTP."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time

from pydantic_core import from_json

from tactician.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
    ThinkingRefusedError,
)

_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationError,
    402: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ModelTimeoutError,
    429: RateLimitError,
    529: RateLimitError,
}
_LONGEST_RETRY_AFTER = 3600.0
_LONGEST_MESSAGE = 1000
_LONGEST_EXCERPT = 300
_END_OF_HOST = re.compile(r"[/?#\\]")
# Phrases in error messages of providers, for errors whose code does not name the cause.
_TOO_LONG = re.compile(r"context.?length|exceed.context|context window|prompt is too long", re.IGNORECASE)
# OpenAI reports foreign thinking with a code, Anthropic and Google in words only.
_NOT_OURS = re.compile(
    r"invalid_encrypted_content|invalid .?signature.? in .?thinking.? block|thought.?signature", re.IGNORECASE
)


def find_error_class(status: int) -> type[ModelError]:
    """Return the error class for a status of 300 or more."""
    return _BY_STATUS.get(status, ModelServerError if status >= 500 else ModelRequestError)


def create_status_error(status: int, headers: Mapping[str, str], content: bytes, model: str) -> ModelError:
    """Return the typed error for an answer with a status of 300 or more."""
    message, code = _explain(content)
    kind = find_error_class(status)
    if kind is ModelRequestError and _TOO_LONG.search(f"{code} {message}"):
        kind = ContextLengthError
    if kind is ModelRequestError and _NOT_OURS.search(f"{code} {message}"):
        kind = ThinkingRefusedError
    if kind is ModelRequestError and "content_filter" in code.split():
        kind = ContentFilterError
    if status < 400:
        message = f"moved to {_find_origin(headers.get('Location', '(nowhere)'))}; redirects are not followed"
    retry_after = _read_retry_after(headers)
    return kind(f"{model}: HTTP {status}: {message}", model=model, status=status, retry_after=retry_after)


def create_transport_error(
    error: Exception, url: str, seconds: float, model: str, total: float | None = None
) -> ModelError | None:
    """Return the typed error for a failed exchange, or `None` for an exception of another kind.

    The limits are `seconds` for each wait and `total` for a whole stream.
    """
    from aiohttp import ClientError, ConnectionTimeoutError, SocketTimeoutError

    if isinstance(error, ConnectionTimeoutError):
        return ModelConnectionError(f"{model}: cannot reach {_find_origin(url)}: no connection in time", model=model)
    if isinstance(error, TimeoutError) and total is not None and not isinstance(error, SocketTimeoutError):
        return ModelTimeoutError(f"{model}: the stream did not end within {total:g} s", model=model)
    if isinstance(error, TimeoutError):
        return ModelTimeoutError(f"{model}: no answer within {seconds:g} s", model=model)
    if isinstance(error, ClientError):
        return ModelConnectionError(f"{model}: cannot reach {_find_origin(url)}: {_explain_client(error)}", model=model)
    if isinstance(error, ValueError):
        return ModelRequestError(f"{model}: the request cannot be sent: {error}", model=model)
    return None


def cut_excerpt(content: bytes) -> str:
    """Return the beginning of an answer, for a message."""
    return content[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip() or "(empty)"


def _explain(content: bytes) -> tuple[str, str]:
    """Return the message of an error, and its code and type."""
    try:
        error = from_json(content)["error"]
        return str(error["message"])[:_LONGEST_MESSAGE], f"{error.get('code') or ''} {error.get('type') or ''}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return cut_excerpt(content), ""


def _explain_client(error: Exception) -> str:
    from aiohttp import ClientConnectorDNSError, ClientConnectorError, ClientResponseError, InvalidURL

    if isinstance(error, InvalidURL):
        return "this is not a URL"
    if isinstance(error, ClientConnectorDNSError):
        return "there is no such host, or no network"
    if type(error) is ClientConnectorError and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    # The text of such an error quotes the whole URL.
    return error.message[:_LONGEST_EXCERPT] if isinstance(error, ClientResponseError) else str(error)


def _find_origin(url: str) -> str:
    """Return the scheme, host and port of a URL: the rest may hold keys."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{_END_OF_HOST.split(rest, maxsplit=1)[0].rpartition('@')[2]}"


def _read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header, an hour at most; `None` if it is missing or malformed."""
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
