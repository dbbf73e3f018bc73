"""Pages of the web that are fetched before their turn, a few at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Final, Generic, Self, TypeVar

from tactician.rag.sources import DocumentSource

T = TypeVar("T")
AT_ONCE: Final = 8
"""Pages that are fetched at the same time, or wait for their turn. That bounds the memory that they take."""


class Downloads(Generic[T]):
    """Pages that are fetched a few at once, and are given out in their order.

    Args:
        sources: the pages.
        fetch: function that fetches a page.
    """

    def __init__(
        self, sources: Iterable[DocumentSource], fetch: Callable[[DocumentSource], Coroutine[object, object, T]]
    ) -> None:
        self._waiting = deque(sources)
        self._fetch = fetch
        self._tasks: deque[asyncio.Task[T]] = deque()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def take_next(self) -> T:
        """Return the next page, or raise the error that its fetching ended with."""
        while self._waiting and len(self._tasks) < AT_ONCE:
            self._tasks.append(asyncio.create_task(self._fetch(self._waiting.popleft())))
        try:
            return await self._tasks[0]
        finally:
            self._tasks.popleft().cancel()
