"""Bounds on what servers answer over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic
from typing import Final

import httpx2
from typing_extensions import override

_LARGEST_BODY: Final = 32_000_000
_LONGEST_READ: Final = 300.0
_EVENTS: Final = "text/event-stream"
HEADERS: Final = {"Accept-Encoding": "identity"}
"""Headers of requests whose answers can be bounded: a small compressed answer can have any size."""


async def bound_body(response: httpx2.Response) -> None:
    """Bound the size of an answer, and the time in which it has to come.

    Streams of events go on for as long as they like: the SDK bounds each event. It reads all other answers into memory.

    Raises:
        StreamError: when the answer is compressed; and later, while it is read, when it exceeds a bound.
    """
    if response.headers.get("content-type", "").lower().startswith(_EVENTS):
        return
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.StreamError("The server compresses its answer, though it was asked not to.")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, deadline = 0, monotonic() + _LONGEST_READ
        async for chunk in self._inner:
            size += len(chunk)
            if size > _LARGEST_BODY:
                raise httpx2.StreamError(f"The answer has more than {_LARGEST_BODY:,} bytes.")
            if monotonic() > deadline:
                raise httpx2.StreamError(f"The answer took longer than {_LONGEST_READ:g} seconds.")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()
