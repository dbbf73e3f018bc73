"""One attempt at one deployment: it takes a place there, and whatever happens it gives it back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Protocol, Self, TypeAlias, TypeVar

from tactician.clock import Clock
from tactician.errors import MalformedResponseError, ModelError
from tactician.llm.model import Delta, ModelResponse
from tactician.llm.routing.lane import Lane
from tactician.llm.routing.pool import Pool
from tactician.llm.routing.reports import Reporter
from tactician.llm.routing.retries import failure_of
from tactician.llm.usage import Usage

Items: TypeAlias = AsyncIterator[Delta | ModelResponse]


class Response(Protocol):
    """An answer of any kind, which tells what it used."""

    @property
    def usage(self) -> Usage:
        """What it used, and whose that is."""
        ...

    def signed(self, model: str) -> Self:
        """Return the same with a usage that says whose it is; itself where it says so already."""
        ...


RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT", bound=Response)


class Visit:
    """A place at a deployment, that exactly one of `answered`, `failed` and `left` gives back.

    Args:
        grant: the number under which the lane let it in.
        tokens: the estimate that the lane counted.
        entered_at: when that was.
    """

    __slots__ = ("_clock", "_grant", "_pool", "_reporter", "_tokens", "entered_at", "lane")

    def __init__(
        self, pool: Pool, lane: Lane, grant: int, tokens: int, entered_at: float, clock: Clock, reporter: Reporter
    ) -> None:
        self.lane = lane
        self.entered_at = entered_at
        self._pool = pool
        self._grant = grant
        self._tokens = tokens
        self._clock = clock
        self._reporter = reporter

    async def call(self, ask: Callable[[RequestT], Awaitable[ResponseT]], request: RequestT) -> ResponseT:
        """One call, one answer.

        Raises:
            ModelError: as the model raises it.
        """
        try:
            response = await ask(request)
        except ModelError as error:
            self.failed(error)
            raise
        except BaseException:
            self.left()
            raise
        return self.answered(response)

    async def open(self, begin: Callable[[RequestT], Items], request: RequestT) -> Started:
        """The beginning of a stream; the whole answer, if it comes without deltas.

        Raises:
            ModelError: when the stream fails before anything came.
        """
        try:
            stream = OpenStream(self, begin(request))
            first = await stream.begin()
        except ModelError as error:
            self.failed(error)
            raise
        except BaseException:
            self.left()
            raise
        if isinstance(first, ModelResponse):
            return self.answered(first)
        return stream

    def unfinished(self) -> MalformedResponseError:
        """What is raised when a stream ends without its response."""
        name = self.lane.name
        return MalformedResponseError(f"{name}: the stream ended before the answer was complete", model=name)

    def answered(self, response: ResponseT) -> ResponseT:
        """It was answered: the answer, with a usage that says whose it is."""
        if not response.usage.model:
            response = response.signed(self.lane.name)
        seconds = self._clock.monotonic() - self.entered_at
        with self._pool.lock:
            recovered = self.lane.answered(self._grant, response.usage, seconds, self._tokens)
            self._pool.changed(health=recovered)
        if recovered:
            self._reporter.recovered(self.lane)
        return response

    def failed(self, error: ModelError) -> None:
        """It failed."""
        kind, now = failure_of(error), self._clock.monotonic()
        with self._pool.lock:
            rest = self.lane.failed(self._grant, error, kind, now, self._tokens)
            self._pool.changed(health=rest is not None or bool(error.retry_after))
        if rest is not None:
            self._reporter.rested(self.lane, rest, kind.value)

    def left(self) -> None:
        """It was given up."""
        with self._pool.lock:
            self.lane.left(self._grant)
            self._pool.changed()


class OpenStream:
    """A stream of which something has come: from now on its errors are nobody's but the caller's."""

    __slots__ = ("_first", "_items", "_visit")

    def __init__(self, visit: Visit, items: Items) -> None:
        self._visit = visit
        self._items = items
        self._first: Delta | ModelResponse | None = None

    async def begin(self) -> Delta | ModelResponse:
        """Waits for what comes first.

        Raises:
            ModelError: when nothing comes.
        """
        first = self._first = await anext(self._items, None)
        if first is None:
            raise self._visit.unfinished()
        if isinstance(first, ModelResponse):
            await self._close()
        return first

    async def deltas(self) -> AsyncGenerator[Delta | ModelResponse]:
        """All that comes: deltas, and then the response.

        Raises:
            ModelError: as the model raises it, or when it stops without a response.
        """
        try:
            if self._first is not None:
                yield self._first
            response = None
            async for item in self._items:
                if isinstance(item, ModelResponse):
                    response = item
                    break
                yield item
            await self._close()
            if response is None:
                raise self._visit.unfinished()
        except ModelError as error:
            self._visit.failed(error)
            raise
        except BaseException:
            await self.abandon()
            raise
        yield self._visit.answered(response)

    async def abandon(self) -> None:
        """Makes the model stop, and gives the place back."""
        try:
            await self._close()
        finally:
            self._visit.left()

    async def _close(self) -> None:
        if isinstance(self._items, AsyncGenerator):
            await self._items.aclose()


Started: TypeAlias = ModelResponse | OpenStream
"""What an attempt at a chat model gives: the whole answer, or a stream that has begun."""
