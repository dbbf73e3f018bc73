"""Attempt at a deployment, which holds a slot there until it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol, Self, TypeAlias, TypeVar

from tactician.clock import Clock
from tactician.errors import MalformedResponseError, ModelError
from tactician.llm.model import Delta, ModelResponse
from tactician.llm.routing.deployment_pool import DeploymentPool
from tactician.llm.routing.deployment_state import DeploymentState
from tactician.llm.routing.reporter import Reporter
from tactician.llm.routing.retries import Failure, classify_failure
from tactician.llm.usage import Usage

Items: TypeAlias = AsyncIterator[Delta | ModelResponse]


class Response(Protocol):
    """Answer of any kind, with its usage."""

    @property
    def usage(self) -> Usage:
        """Usage of the answer, and the model that the usage is of."""
        ...

    def attribute_to(self, model: str) -> Self:
        """Return a copy whose usage names the model, or the same object if it already does."""
        ...


ResponseT = TypeVar("ResponseT", bound=Response)


class Attempt:
    """Slot at a deployment, which exactly one of `record_response`, `record_failure` and `release` gives back.

    Args:
        call_number: the number that the deployment gave the call.
        tokens: the estimate that the deployment counted.
        started_at: when the call started.
    """

    __slots__ = ("_call_number", "_clock", "_pool", "_reporter", "_tokens", "started_at", "state")

    def __init__(
        self,
        pool: DeploymentPool,
        state: DeploymentState,
        call_number: int,
        tokens: int,
        started_at: float,
        clock: Clock,
        reporter: Reporter,
    ) -> None:
        self.state = state
        self.started_at = started_at
        self._pool = pool
        self._call_number = call_number
        self._tokens = tokens
        self._clock = clock
        self._reporter = reporter

    async def open_stream(self, items: Items) -> Started:
        """Open a stream, and return it, or the whole answer if the model sends no deltas.

        Raises:
            ModelError: when the stream fails before its first item.
        """
        stream = OpenStream(self, items)
        first = await stream.read_first()
        return first if isinstance(first, ModelResponse) else stream

    def create_incomplete_stream_error(self) -> MalformedResponseError:
        """Return the error of a stream that ended without its response."""
        name = self.state.name
        return MalformedResponseError(f"{name}: the stream ended before the answer was complete", model=name)

    def record_response(self, response: ResponseT) -> ResponseT:
        """Give the slot back after an answer, and return the answer with the model's name in its usage."""
        if not response.usage.model:
            response = response.attribute_to(self.state.name)
        seconds = self._clock.monotonic() - self.started_at
        with self._pool.lock:
            is_closed = self.state.record_response(self._call_number, response.usage, seconds, self._tokens)
            self._pool.admit_waiting(health_changed=is_closed)
        if is_closed:
            self._reporter.report_circuit_closed(self.state)
        return response

    def record_failure(self, error: ModelError) -> Failure:
        """Give the slot back after a failure, and return the kind of failure."""
        kind, now = classify_failure(error), self._clock.monotonic()
        with self._pool.lock:
            cooldown = self.state.record_failure(self._call_number, error, kind, now, self._tokens)
            self._pool.admit_waiting(health_changed=cooldown is not None or bool(error.retry_after))
        if cooldown is not None:
            self._reporter.report_circuit_opened(self.state, cooldown, kind.value)
        return kind

    def release(self) -> None:
        """Give the slot back without a verdict on the deployment."""
        with self._pool.lock:
            self.state.release(self._call_number)
            self._pool.admit_waiting()


class OpenStream:
    """Stream whose first item has come; from now on, its errors go to the caller."""

    __slots__ = ("_attempt", "_first", "_items")

    def __init__(self, attempt: Attempt, items: Items) -> None:
        self._attempt = attempt
        self._items = items
        self._first: Delta | ModelResponse | None = None

    async def read_first(self) -> Delta | ModelResponse:
        """Wait for the first item, and return it.

        Raises:
            ModelError: when the stream fails or is empty.
        """
        first = self._first = await anext(self._items, None)
        if first is None:
            raise self._attempt.create_incomplete_stream_error()
        if isinstance(first, ModelResponse):
            await self._close()
        return first

    async def iterate(self) -> AsyncGenerator[Delta | ModelResponse]:
        """Yield all deltas, and then the response.

        Raises:
            ModelError: as the model raises it, or when the stream ends without a response.
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
                raise self._attempt.create_incomplete_stream_error()
        except ModelError as error:
            self._attempt.record_failure(error)
            raise
        except BaseException:
            await self.abandon()
            raise
        yield self._attempt.record_response(response)

    async def abandon(self) -> None:
        """Stop the model, and give the slot back."""
        try:
            await self._close()
        finally:
            self._attempt.release()

    async def _close(self) -> None:
        if isinstance(self._items, AsyncGenerator):
            await self._items.aclose()


Started: TypeAlias = ModelResponse | OpenStream
"""Result of an attempt at a chat model: the whole answer, or a stream that has begun."""
