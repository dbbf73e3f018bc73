"""Server-sent events (WHATWG HTML, section 9.2): a response that goes on while events come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Final, Literal

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
COMMENT: Final = ": nothing has happened\n\n"


def format_event(data: str, *, kind: str, id: str | None = None) -> str:
    """Return an event as text; `data` is JSON, which has no line breaks."""
    named = "" if id is None else f"id: {id}\n"
    return f"{named}event: {kind}\ndata: {data}\n\n"


def format_problem(kind: str, message: str) -> str:
    """Return an error as an event of a stream that has already begun."""
    return format_event(json.dumps({"type": kind, "message": message}), kind="error")


class _Stream(StreamingResponse):
    """Stream that ends when its reader does not read."""

    def __init__(self, texts: AsyncGenerator[str], patience: float) -> None:
        super().__init__(texts, media_type="text/event-stream", headers=_HEADERS)
        self._texts = texts
        self._patience = patience

    async def stream_response(self, send: Send) -> None:
        """Send the stream."""

        async def send_soon(message: Message) -> None:
            async with asyncio.timeout(self._patience):
                await send(message)

        with suppress(TimeoutError):
            async with aclosing(self._texts):
                await super().stream_response(send_soon)


class Streams:
    """The open streams of a server, which all end when it stops.

    Args:
        most: number of streams that may be open at a time.
        patience: seconds that a reader may take to read a part of a stream, after which the stream ends.
    """

    def __init__(self, most: int, patience: float = 30.0) -> None:
        self._most = most
        self._patience = patience
        self._stopped = asyncio.Event()
        self.open = 0

    @property
    def is_full(self) -> bool:
        """True when no other stream may be opened."""
        return self.open >= self._most

    @property
    def are_stopped(self) -> bool:
        """True once the server ends all streams."""
        return self._stopped.is_set()

    async def wait_stopped(self) -> None:
        """Wait until the server ends all streams."""
        await self._stopped.wait()

    def stop(self) -> None:
        """End all streams."""
        self._stopped.set()

    def respond(self, texts: AsyncGenerator[str]) -> StreamingResponse:
        """Return the response that sends texts as they come."""
        return _Stream(self._send(texts), self._patience)

    async def _send(self, texts: AsyncGenerator[str]) -> AsyncGenerator[str]:
        self.open += 1
        stopped = asyncio.create_task(self._stopped.wait())
        try:
            async with aclosing(texts):
                while (text := await _next_unless(texts, stopped)) is not None:
                    yield text
        finally:
            stopped.cancel()
            self.open -= 1


async def _next_unless(texts: AsyncGenerator[str], stopped: asyncio.Task[Literal[True]]) -> str | None:
    """Return the next text, or `None` at the end or when the server stops before it comes."""
    following = asyncio.create_task(_read_next(texts))
    try:
        await asyncio.wait((following, stopped), return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            return following.result()
        return None
    finally:
        if not following.done():
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _read_next(texts: AsyncGenerator[str]) -> str | None:
    return await anext(texts, None)
