"""Watch over the stream from a server: the owner of the connection learns at once when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream, TransportStreams

    from tactician.mcp.transports import Target

T = TypeVar("T")
_ENDED = "its connection has ended"


def watch_end(target: Target, on_end: Callable[[str], None]) -> Target:
    """Return a transport that says when its stream from the server ends; a server in this program as it is."""
    if not isinstance(target, AbstractAsyncContextManager):
        return target
    return _watch(target, on_end)


@asynccontextmanager
async def _watch(
    transport: AbstractAsyncContextManager[TransportStreams], on_end: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    async with transport as (reading, writing):
        yield _WatchedStream(reading, on_end), writing


class _WatchedStream(Generic[T]):
    """Stream that says when it ends."""

    def __init__(self, inner: ReadStream[T], on_end: Callable[[str], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def last_context(self) -> Context | None:
        """The context of the sender of the last item, if the stream keeps it."""
        context: Context | None = getattr(self._inner, "last_context", None)
        return context

    async def receive(self) -> T:
        """Return the next item."""
        try:
            return await self._inner.receive()
        except Exception:  # whatever says that the stream has ended
            self._on_end(_ENDED)
            raise

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        try:
            return await anext(self._inner)
        except (StopAsyncIteration, Exception):
            self._on_end(_ENDED)
            raise

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
