"""A worker takes processes out of a store and goes on with them. Several share a store."""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from contextlib import suppress
from time import monotonic
from typing import Final

from tactician.errors import LeaseLostError, StoreError, TacticianError
from tactician.events import new_id
from tactician.platform.platform import Platform
from tactician.process import DEFAULT_LEASE
from tactician.runs import RunRecord, RunStore
from tactician.stores import Lease

_logger = logging.getLogger(__name__)
_POLLS: Final = 10
"""For how many polls a worker passes over what it could not go on with."""


class Worker:
    """Goes on with whatever process of the platform's agents can go on and is nobody's.

    That is: a process that was enqueued, one whose worker has died, or one that waits for somebody whose deadline has
    passed. It may be one of an agent that `Autonomy` or `SupervisorInvocation` has made of what is registered.

    What it cannot go on with, because a tool group is missing, say, it leaves to others: it passes that over for some
    polls.

    Args:
        platform: whose agents and store it works with.
        name: who it is, in the store; a random one by default.
        lease: seconds for which a process is its own; renewed while it runs.
        poll: seconds between two looks into the store when there is nothing to do.
        max_parallel: how many processes it runs at once.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        name: str | None = None,
        lease: float = DEFAULT_LEASE,
        poll: float = 1.0,
        max_parallel: int = 1,
    ) -> None:
        self.name = name or f"worker-{new_id()}"
        self._platform = platform
        self._lease = lease
        self._poll = poll
        self._max_parallel = max_parallel
        self._passed_over: dict[str, float] = {}

    async def run_once(self) -> bool:
        """Takes one process and runs it as far as it can go; whether there was one."""
        claimed = await self._claim()
        if claimed is None:
            return False
        await self._go_on(*claimed)
        return True

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Works until it is cancelled, or told to stop: then what runs is finished first."""
        stop = stop or asyncio.Event()
        async with asyncio.TaskGroup() as group:
            places = asyncio.Semaphore(self._max_parallel)
            while not stop.is_set():
                await places.acquire()
                claimed = None if stop.is_set() else await self._claim()
                if claimed is None:
                    places.release()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._poll):
                            await stop.wait()
                    continue
                task = group.create_task(self._go_on(*claimed))
                task.add_done_callback(lambda _: places.release())

    async def _claim(self) -> tuple[RunRecord, Lease] | None:
        if not (names := self._platform.process_names):  # without a name, a store gives any process
            return None
        now = monotonic()
        self._passed_over = {run_id: until for run_id, until in self._passed_over.items() if until > now}
        try:
            return await RunStore(self._platform.store).claim(
                self.name, self._lease, names=names, excluded_ids=list(self._passed_over)
            )
        except StoreError as error:
            _logger.warning("%s: %s", self.name, error)
            return None

    async def _go_on(self, record: RunRecord, lease: Lease) -> None:
        """Goes on with what was claimed, if that is possible. No process is the end of those beside it."""
        if record.kind != "process":  # a run of an agent goes on where somebody answers it
            return
        try:
            process = await self._platform.go_on(record, lease, seconds=self._lease)
        except LeaseLostError as error:
            _logger.warning("%s: %s", self.name, error)
        except (CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            self._passed_over[record.run_id] = monotonic() + _POLLS * self._poll
            says_all = isinstance(error, TacticianError) and not _logger.isEnabledFor(logging.DEBUG)
            what = "%s: the process %s cannot go on here: %s"
            _logger.warning(what, self.name, record.run_id, error, exc_info=not says_all)
        else:
            _logger.info("%s: %r", self.name, process)
