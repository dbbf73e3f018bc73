"""The server of a platform: a host, and the streams that it sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

from tactician.clock import Timeout
from tactician.evals.asking import register_judges
from tactician.platform import Platform
from tactician.platform.host.host import Host
from tactician.secrets import Masking
from tactician.serve.api.serving.guard import RequestLimits
from tactician.serve.api.serving.sse import Streams
from tactician.serve.problems import find_status

T = TypeVar("T")
_GRACE: Final = 2.0
"""Seconds that a caller waits for a run to continue with an answer; longer runs continue without the caller."""

_OF_RUNS: Final = frozenset({500, 502})
"""Statuses of errors that runs raise, and not requests."""


class ApiServer:
    """Server of a platform: the face of a host that people and programs call over HTTP.

    Args:
        platform: the platform. Its runs are saved, so that any worker may continue them.
        limits: limits of requests.

    Attributes:
        host: host of the platform.
        platform: the same.
        clock: time of the platform.
        masking: masks of secrets in what the server sends.
        feed: the events of its runs.
        meter: the use of models by its runs.
        runs: client of the runs.
        spawn: does some work beside the requests, until it ends or the server does.
        streams: open streams of events.
        limits: the same.

    Raises:
        ConfigurationError: when the platform has no store.
    """

    def __init__(self, platform: Platform, limits: RequestLimits) -> None:
        register_judges(platform)
        self.host = host = Host(
            platform,
            lease=limits.lease,
            parallel=limits.parallel,
            events_per_run=limits.events_per_run,
            runs_with_events=limits.runs_with_events,
        )
        self.platform, self.clock, self.feed, self.meter = platform, host.clock, host.feed, host.meter
        self.runs, self.spawn = host.runs, host.spawn
        self.masking = platform.services.find(Masking)
        self.streams = Streams(limits.streams)
        self.limits = limits

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Continue runs of the store until the end; what still runs then is interrupted, and can be resumed."""
        async with self.host.work():
            try:
                yield
            finally:
                self.streams.stop()

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


def _has_failed(task: asyncio.Task[object]) -> bool:
    """Return whether a run that a task continued has raised an error, which says nothing of the caller's request."""
    error = None if task.cancelled() else task.exception()
    return isinstance(error, Exception) and find_status(error) in _OF_RUNS
