"""Worker that continues the runs of a store. Several workers share a store."""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Final

from tactician.clock import Timeout
from tactician.errors import LeaseLostError, StoredStateError, StoreError, TacticianError
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.platform.platform import Platform
from tactician.process import AgentProcess
from tactician.runs import RunStatus
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores.document import Lease
from tactician.suggestions import suggest_options
from tactician.text import describe_error

_logger = get_logger(__name__)
_POLLS: Final = 10
"""Number of polls for which a worker leaves a run to others that it could not continue."""
_PRUNE_INTERVAL: Final = 600.0
"""Seconds between deletions of old runs."""


@suggest_options
class Worker:
    """Worker that claims runs of what is registered on a platform, and continues them.

    A worker claims a run that was enqueued, whose worker has died, or that waits for a person and whose deadline, or
    the question's, has passed. What runs is registered, or was composed by `Autonomy` or `SupervisorInvocation`
    of what is registered.

    A run that the worker cannot continue, because a tool group is missing, say, is left to others for some polls.

    Every ten minutes, the worker deletes the runs that ended longer ago than the `retention` of the platform.

    Args:
        platform: platform with the agents and the store.
        name: name of the worker as the owner of leases; a random name by default.
        lease: duration of a lease in seconds; it is renewed while the process runs.
        poll: seconds between two claims when there is nothing to do.
        max_parallel: number of runs at a time, or a function that returns the number as it is now.
        find_names: returns the names of the runs that may be claimed now; all that are registered, by default.
        on_rest: called with each run that the worker has continued, as the run was before.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        name: str | None = None,
        lease: float = DEFAULT_LEASE,
        poll: float = 1.0,
        max_parallel: int | Callable[[], int] = 1,
        find_names: Callable[[], Collection[str]] | None = None,
        on_rest: Callable[[RunRecord], Awaitable[None]] | None = None,
    ) -> None:
        self._find_names = find_names
        self._on_rest = on_rest
        self.name = name or f"worker-{new_id()}"
        self._platform = platform
        self._lease = lease
        self._poll = poll
        self._max_parallel = max_parallel
        self._places = _Places(max_parallel)
        self._excluded: dict[str, float] = {}
        self._clock = platform.services.clock
        self._monotonic = self._clock.monotonic
        self._prunes_at = self._monotonic()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let the worker look for runs at once, and not only after `poll` seconds."""
        self._woken.set()
        self._places.look_again()

    async def run_once(self) -> bool:
        """Claim a run and continue it as far as it can go. Return whether there was any."""
        claimed = await self._claim()
        if claimed is None:
            return False
        await self._continue_to_rest(*claimed)
        return True

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Claim and continue runs until `stop` is set. Then finish those that run.

        Raises:
            ConfigurationError: when the store cannot be opened.
        """
        try:
            await self._run_until(stop or asyncio.Event())
        except ExceptionGroup as failures:  # what a run raises stays with the run: this is the search for runs
            raise failures.exceptions[0] from None

    async def _run_until(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            places = self._places = _Places(self._max_parallel)
            while not stop.is_set():
                await places.acquire()
                claimed = None if stop.is_set() else await self._claim()
                if claimed is None:
                    places.release()
                    await self._rest(stop)
                    continue
                task = group.create_task(self._continue_to_rest(*claimed))
                task.add_done_callback(lambda _: places.release())

    async def _rest(self, stop: asyncio.Event) -> None:
        """Wait until it is time to look for runs again, somebody calls `wake`, or the worker is to stop."""
        reasons = [asyncio.create_task(event.wait()) for event in (stop, self._woken)]
        try:
            with suppress(TimeoutError), Timeout(self._poll, self._clock):
                await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for reason in reasons:
                reason.cancel()
            self._woken.clear()

    async def _claim(self) -> tuple[RunRecord, Lease] | None:
        if not (
            names := self._platform.run_names if self._find_names is None else self._find_names()
        ):  # without a name, a store gives any process
            return None
        now = self._monotonic()
        self._excluded = {run_id: until for run_id, until in self._excluded.items() if until > now}
        try:
            await self._prune(now)
            return await RunStore(self._platform.store).claim(
                self.name, self._lease, names=names, excluded_ids=list(self._excluded)
            )
        except (StoreError, StoredStateError) as error:  # a damaged document is left alone until its lease ends
            _logger.warning("%s: %s", self.name, error)
            return None

    async def _prune(self, now: float) -> None:
        if (retention := self._platform.retention) is None or now < self._prunes_at:
            return
        self._prunes_at = now + _PRUNE_INTERVAL
        if deleted := await RunStore(self._platform.store).prune(retention.total_seconds()):
            _logger.info("%s: %s old runs were deleted", self.name, deleted)

    async def _continue_to_rest(self, record: RunRecord, lease: Lease) -> None:
        await self._continue(record, lease)
        if self._on_rest is not None:
            await self._on_rest(record)

    async def _continue(self, record: RunRecord, lease: Lease) -> None:
        """Continue a claimed run if possible. Nothing that a run raises ends those beside it."""
        try:
            outcome = await self._platform.continue_claimed(record, lease, seconds=self._lease)
        except LeaseLostError as error:
            _logger.warning("%s: %s", self.name, error)
        except (CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if await self._has_failed(record):
                self._report(record, RunStatus.FAILED, describe_error(error))
                return
            self._exclude(record.run_id)
            says_all = isinstance(error, TacticianError) and not _logger.isEnabledFor(logging.DEBUG)
            what = "%s: the run %s cannot continue here: %s"
            _logger.warning(what, self.name, record.run_id, error, exc_info=not says_all)
        else:
            _logger.info("%s: %r", self.name, outcome)
            if isinstance(outcome, AgentProcess) and outcome.failure is not None:
                self._report(record, RunStatus(outcome.status.value), outcome.failure)
            if record.status is RunStatus.WAITING:
                await self._leave_unchanged(record)

    def _report(self, record: RunRecord, status: RunStatus, reason: str) -> None:
        """Say why a run has not completed: the log of a worker is what people look at first."""
        is_debugged = _logger.isEnabledFor(logging.DEBUG)
        what = "%s: the run %s of %s is %s: %s"
        _logger.warning(what, self.name, record.run_id, record.name, status.value, reason, exc_info=is_debugged)

    async def _has_failed(self, record: RunRecord) -> bool:
        """Return whether the run has ended: then it is the run that raised, and not its start here."""
        with suppress(StoreError, StoredStateError):
            now = await RunStore(self._platform.store).load(record.run_id, with_body=False)
            return now is not None and now.status.is_terminal
        return False

    async def _leave_unchanged(self, record: RunRecord) -> None:
        """Leave a run to others for some polls if it stands as before: by the clock of this program it is not due."""
        with suppress(StoreError, StoredStateError):
            now = await RunStore(self._platform.store).load(record.run_id, with_body=False)
            if now is not None and (now.version, now.steps) == (record.version, record.steps):
                self._exclude(record.run_id)

    def _exclude(self, run_id: str) -> None:
        self._excluded[run_id] = self._monotonic() + _POLLS * self._poll


class _Places:
    """Places for runs, whose number may change while all are taken."""

    def __init__(self, number: int | Callable[[], int]) -> None:
        self._find_number = number if callable(number) else lambda: number
        self._taken = 0
        self._freed = asyncio.Event()

    async def acquire(self) -> None:
        while self._taken >= self._find_number():
            self._freed.clear()
            await self._freed.wait()
        self._taken += 1

    def release(self) -> None:
        self._taken -= 1
        self._freed.set()

    def look_again(self) -> None:
        self._freed.set()
