"""Host of a platform: its worker, the events and figures of its runs, and work in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from enum import StrEnum
from typing import Final, TypeVar

from tactician.clock import Timeout
from tactician.errors import ConfigurationError, StoreError, TacticianError
from tactician.platform.follow import RunClient
from tactician.platform.host.feed import EventFeed
from tactician.platform.host.meter import COUNTED, DAY, ModelMeter
from tactician.platform.platform import Platform
from tactician.platform.worker import Worker
from tactician.runs.life.holding import DEFAULT_LEASE, LeaseTime
from tactician.secrets import Masking

_MOST_RUNS: Final = 1000
T = TypeVar("T")
DRAIN_SECONDS: Final = 300.0


async def restore_memory(platform: Platform, feed: EventFeed, meter: ModelMeter) -> None:
    """Read the events of the latest runs of the day before the host started, run by run beside other work.

    What they used is counted, and the runs inside them are found by their ids.
    """
    start, since = meter.since, meter.since - DAY
    try:
        runs = await platform.runs(limit=_MOST_RUNS, newest_first=True)
    except StoreError:
        return
    for run in runs:
        if run.parent_id is None and (run.changed_at or 0.0) >= since:
            await _read(platform, run.id, feed, meter, start)
            await asyncio.sleep(0)
    oldest = min((run.started_at or start for run in runs), default=start)
    meter.since = max(since, oldest) if len(runs) == _MOST_RUNS else since


async def _read(platform: Platform, run_id: str, feed: EventFeed, meter: ModelMeter, start: float) -> None:
    try:
        events = await platform.events(run_id)
    except TacticianError:
        return  # it was deleted meanwhile, or its record says what is wrong with it
    feed.add_roots(run_id, {recorded.run_id for recorded in events} - {run_id, ""})
    for recorded in events:
        is_counted = recorded.type in COUNTED and start - DAY <= recorded.time < start
        if is_counted and (event := recorded.event) is not None:
            meter.note(event)


class HostState(StrEnum):
    """State of a host. Only a host that is `READY` takes new runs."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"


class Host:
    """Presence of a platform in this program: it continues runs of the store for as long as `work` is entered.

    Servers are faces of a host. Several faces may share a host, as they are about the same runs.

    Args:
        platform: the platform. Its runs are saved, so that any worker may continue them.
        lease: seconds after which others continue the runs of a host that has died.
        parallel: runs that the host continues at a time.
        events_per_run: events of a run that are kept in memory for readers that come late.
        runs_with_events: runs of which events are kept in memory.

    Attributes:
        platform: the same.
        clock: time of the platform.
        state: state of the host.
        feed: events of the runs.
        meter: use of models by the runs.
        runs: client of the runs.

    Raises:
        ConfigurationError: when the platform has no store.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        lease: float = DEFAULT_LEASE,
        parallel: int = 100,
        events_per_run: int = 10_000,
        runs_with_events: int = 1000,
    ) -> None:
        if not platform.is_durable:
            raise ConfigurationError(
                "A server needs a platform with a store: Platform(store=SqliteStore(...)), or "
                "Platform(store=MemoryStore()) when runs may be lost with the program."
            )
        services = platform.services
        services.find(LeaseTime).seconds = lease
        self.platform = platform
        self.clock = services.clock
        self.state = HostState.STARTING
        self.feed = EventFeed(services.find(Masking), events_per_run, runs_with_events, clock=self.clock)
        self.meter = ModelMeter(self.clock.time())
        self._worker = Worker(platform, lease=lease, max_parallel=parallel)
        self.runs = RunClient(platform, self.feed, wake=self._worker.wake)
        self._tasks: set[asyncio.Task[object]] = set()
        self._stop = asyncio.Event()

    @property
    def worker_name(self) -> str:
        """Name of the worker of the host, as the owner of leases."""
        return self._worker.name

    @property
    def is_ready(self) -> bool:
        """True while the host takes new runs."""
        return self.state is HostState.READY

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Continue runs of the store until the end; what still runs then is interrupted, and can be resumed.

        To let it finish, `drain` the host before the end.
        """
        bus, self._stop = self.platform.services.bus, asyncio.Event()
        with ExitStack() as listening:
            for listener in (self.feed.publish, self.meter.note):
                listening.callback(bus.subscribe(listener))
            self.spawn(self._worker.run(self._stop))
            self.spawn(restore_memory(self.platform, self.feed, self.meter))
            self.state = HostState.READY
            try:
                yield
            finally:
                self.state = HostState.DRAINING
                listening.close()
                await self._interrupt()
                self.state = HostState.STOPPED

    async def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Take no more runs, and let those that run finish. Return whether all have, within so many seconds.

        The others are interrupted after their last saved steps. Their leases are released, so that another program
        continues them at once.
        """
        self.state = HostState.DRAINING
        self._stop.set()
        with suppress(TimeoutError), Timeout(seconds, self.clock):
            while self._tasks:
                await asyncio.wait(self._tasks)
        have_finished = not self._tasks
        await self._interrupt()
        return have_finished

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Do some work in the background, until it ends or the host does."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # what a run raises is in its record

    async def _interrupt(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
