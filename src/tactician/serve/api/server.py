"""The part of the server that lives as long as it does: its worker, the feed of events, its streams and its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

from tactician.clock import Timeout
from tactician.errors import ConfigurationError
from tactician.platform import EventFeed, ModelMeter, Platform, RunClient, Worker, restore_memory
from tactician.runs import LeaseTime
from tactician.secrets import Masking
from tactician.serve.api.guard import RequestLimits
from tactician.serve.api.sse import Streams
from tactician.serve.problems import find_status

T = TypeVar("T")
_GRACE: Final = 2.0
"""Seconds that a caller waits for a run to continue with an answer; longer runs continue without the caller."""

_OF_RUNS: Final = frozenset({500, 502})
"""Statuses of errors that runs raise, and not requests."""


class ApiServer:
    """Server of a platform.

    Args:
        platform: the platform. Its runs are saved, so that any worker may continue them.
        limits: limits of requests.

    Attributes:
        platform: the same.
        masking: masks of secrets in what the server sends.
        feed: the events of its runs.
        meter: the use of models by its runs.
        runs: client of the runs.
        streams: open streams of events.
        limits: the same.

    Raises:
        ConfigurationError: when the platform has no store.
    """

    def __init__(self, platform: Platform, limits: RequestLimits) -> None:
        if not platform.is_durable:
            raise ConfigurationError(
                "A server needs a platform with a store: Platform(store=SqliteStore(...)), or "
                "Platform(store=MemoryStore()) when runs may be lost with the program."
            )
        self.platform = platform
        self.limits = limits
        self.clock = platform.services.clock
        self.masking = platform.services.find(Masking)
        self.feed = EventFeed(self.masking, limits.events_per_run, limits.runs_with_events, clock=self.clock)
        self.meter = ModelMeter(self.clock.time())
        self.streams = Streams(limits.streams)
        platform.services.find(LeaseTime).seconds = limits.lease
        self._worker = Worker(platform, lease=limits.lease, max_parallel=limits.parallel)
        self.runs = RunClient(platform, self.feed, wake=self._worker.wake)
        self._tasks: set[asyncio.Task[object]] = set()
        self.is_ready = False

    @property
    def worker_name(self) -> str:
        """Name of the worker of the server, as the owner of leases."""
        return self._worker.name

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Continue runs of the store until the end; what still runs then is interrupted, and can be resumed."""
        bus = self.platform.services.bus
        stop_listening = bus.subscribe(self.feed.publish), bus.subscribe(self.meter.note)
        working = self.spawn(self._worker.run())
        self.spawn(restore_memory(self.platform, self.feed, self.meter))
        self.is_ready = True
        try:
            yield
        finally:
            self.is_ready = False
            self.streams.stop()
            for stop in stop_listening:
                stop()
            working.cancel()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def begin(self, work: Coroutine[object, object, T], accepted: asyncio.Event | None = None) -> T | None:
        """Do some work; return its result if it ends soon, else `None`, and it continues without the caller.

        Args:
            work: the work.
            accepted: set once it is certain that the work will be done; until then the caller waits. What the
                run raises after that is in its record, and no error of the caller's request.
        """
        task = self.spawn(work)
        if accepted is not None:
            acceptance = asyncio.create_task(accepted.wait())
            await asyncio.wait({task, acceptance}, return_when=asyncio.FIRST_COMPLETED)
            acceptance.cancel()
        with suppress(TimeoutError), Timeout(_GRACE, self.clock):
            await asyncio.wait({task})
        is_accepted = accepted is not None and accepted.is_set()
        return None if not task.done() or (is_accepted and _has_failed(task)) else task.result()

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Do some work beside the requests, until it ends or the server does."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # what a run raises is in its record


def _has_failed(task: asyncio.Task[object]) -> bool:
    """Return whether a run that a task continued has raised an error, which says nothing of the caller's request."""
    error = None if task.cancelled() else task.exception()
    return isinstance(error, Exception) and find_status(error) in _OF_RUNS
