"""JSON over HTTP: a pooled session per event loop, bounded answers, and a typed error for every failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError, from_json, to_json

from tactician.errors import MalformedResponseError, ModelError, ModelRequestError
from tactician.frozen import frozen
from tactician.llm.http_errors import create_status_error, create_transport_error, cut_excerpt
from tactician.llm.redaction import Redaction
from tactician.llm.time_limit import LimitedCall, TimeLimit

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientTimeout, FormData

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection, if the timeout of the request is not shorter."""
MEBIBYTE = 2**20
MAX_ANSWER = 16 * MEBIBYTE
"""Bytes of an answer, after decompression."""
MAX_STREAM = 128 * MEBIBYTE
"""Bytes of a whole stream."""
_MAX_ERROR = MEBIBYTE // 16
_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession]]] = {}


@frozen
class FormField:
    """Field of a form; with a `filename`, a file of the `media_type`."""

    name: str
    value: str | bytes = field(repr=False)
    filename: str | None = None
    media_type: str | None = None


async def http_session() -> ClientSession:
    """Return the session of the running event loop. It is closed when the loop shuts down."""
    current = _sessions.get(loop := asyncio.get_running_loop())
    if current is None:
        await _forget_closed_loops()
        # A loop closes every suspended async generator before it ends, so no caller has to close the session.
        keeper = _session_until_shutdown(loop)
        current = _sessions[loop] = (await anext(keeper), keeper)
    return current[0]


async def _forget_closed_loops() -> None:
    """Close the sessions of loops that were closed without `shutdown_asyncgens`: these would hold their sockets."""
    for loop in [event_loop for event_loop in tuple(_sessions) if event_loop.is_closed()]:
        if (forgotten := _sessions.pop(loop, None)) is not None:
            with suppress(RuntimeError, ValueError):  # a search for an address that never ended is of that loop, too
                await forgotten[0].close()


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
    url: str, body: object, headers: Mapping[str, str], seconds: float, model: str, limit: int = MAX_ANSWER
) -> Coroutine[object, object, object]:
    """Post a JSON body and return the JSON answer; `seconds` limits the whole exchange, `limit` the bytes.

    Raises:
        ModelError: of the class that matches the failure.
    """
    return _exchange(url, _encode(body, model), headers, seconds, model, limit)


async def post_form(
    url: str,
    fields: Iterable[FormField],
    headers: Mapping[str, str],
    seconds: float,
    model: str,
    limit: int = MAX_ANSWER,
) -> object:
    """Post a form (RFC 7578) and return the JSON answer; `seconds` limits the whole exchange, `limit` the bytes.

    Raises:
        ModelError: of the class that matches the failure.
    """
    from aiohttp import FormData

    form = FormData(default_to_multipart=True)
    for part in fields:
        form.add_field(part.name, part.value, filename=part.filename, content_type=part.media_type)
    return await _exchange(url, form, headers, seconds, model, limit)


async def _exchange(
    url: str, data: bytes | FormData, headers: Mapping[str, str], seconds: float, model: str, limit: int
) -> object:
    try:
        open_session = _sessions.get(asyncio.get_running_loop())
        session = await http_session() if open_session is None else open_session[0]
        post = session.post(url, data=data, headers=headers, timeout=_limit_connecting(seconds), allow_redirects=False)
        try:
            with LimitedCall(_limit_total(seconds)):
                response = await post
                if response.status >= 300:
                    raise await _read_error(response, model)
                content = await read_body(response, limit)
        except Exception as error:
            if (failure := create_transport_error(error, url, seconds, model)) is None:
                raise
            raise failure from None  # an error of the client may quote the URL with its key
        return _parse_answer(content, limit, model)
    except ModelError as error:  # entering and leaving a context manager takes longer, in each call of a model
        Redaction(url, headers).redact(error)
        raise


async def post_stream(
    url: str, body: object, headers: Mapping[str, str], seconds: float, total: float, model: str
) -> AsyncGenerator[bytes]:
    """Post a JSON body and yield the bytes of the answer; `seconds` limits each wait, `total` the whole exchange.

    Raises:
        ModelError: of the class that matches the failure.
    """
    limits, received = _limit_waits(seconds, total), 0
    with Redaction(url, headers):
        data = _encode(body, model)
        try:
            post = (await http_session()).post(url, data=data, headers=headers, timeout=limits, allow_redirects=False)
            async with post as response:
                if response.status >= 300:
                    raise await _read_error(response, model)
                async for chunk in response.content.iter_any():
                    received += len(chunk)
                    if received > MAX_STREAM:
                        raise _create_size_error("stream", MAX_STREAM, model)
                    yield chunk
        except Exception as error:
            if (failure := create_transport_error(error, url, seconds, model, total)) is None:
                raise
            raise failure from None  # an error of the client may quote the URL with its key


async def read_body(response: ClientResponse, limit: int) -> bytes:
    """Return the content of an answer, or a byte more than `limit` of it when it is larger, and release it.

    aiohttp decompresses what is read, piece by piece: reading stops when a small answer becomes huge.
    """
    pieces, size = [], 0
    try:
        stream = response.content
        while size <= limit and (piece := await stream.readany()):
            pieces.append(piece)
            size += len(piece)
            if stream.at_eof():  # nearly always: waiting for nothing takes longer
                break
    finally:
        if not response.closed:  # at its end an answer gives its connection back by itself
            response.close()
    return b"".join(pieces)[: limit + 1]


async def _read_error(response: ClientResponse, model: str) -> ModelError:
    content = await read_body(response, _MAX_ERROR)
    return create_status_error(response.status, response.headers, content, model)


def _parse_answer(content: bytes, limit: int, model: str) -> object:
    if len(content) > limit:
        raise _create_size_error("answer", limit, model)
    try:
        answer: object = from_json(content)
    except ValueError as error:
        message = f"{model}: the answer is not JSON: {cut_excerpt(content)}"
        raise MalformedResponseError(message, model=model) from error
    return answer


def _create_size_error(subject: str, limit: int, model: str) -> MalformedResponseError:
    message = f"{model}: the {subject} is larger than {limit // MEBIBYTE} MiB; the rest was not read"
    return MalformedResponseError(message, model=model)


def _encode(body: object, model: str) -> bytes:
    try:
        return to_json(body)
    except (PydanticSerializationError, ValueError) as error:
        raise ModelRequestError(f"{model}: the request cannot be sent: {error}", model=model) from None


@lru_cache(maxsize=64)
def _limit_total(seconds: float) -> TimeLimit:
    # aiohttp's own limit of the whole takes a tenth of the time of a request.
    return TimeLimit(seconds)


@lru_cache(maxsize=64)
def _limit_connecting(seconds: float) -> ClientTimeout:
    from aiohttp import ClientTimeout

    return ClientTimeout(total=None, sock_connect=min(seconds, CONNECT_TIMEOUT))


@lru_cache(maxsize=64)
def _limit_waits(seconds: float, total: float) -> ClientTimeout:
    from aiohttp import ClientTimeout

    return ClientTimeout(total=total, sock_connect=min(seconds, CONNECT_TIMEOUT), sock_read=seconds)
