"""Client of the runs of a platform: it starts them with a key, follows them to rest, answers and cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Final, TypeAlias

from typing_extensions import Unpack

from tactician.clock import Timeout, wait_for_event
from tactician.errors import LeaseLostError, RunConflictError, RunNotFoundError
from tactician.events import Event
from tactician.events.event import new_id
from tactician.guardrails import GuardrailError
from tactician.platform.enqueue_options import EnqueueOptions
from tactician.platform.host.feed import EventFeed
from tactician.platform.platform import Platform
from tactician.runs import PendingRequest, RunCompleted, RunError, RunResult, RunStarted, RunStatus
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import Respondent
from tactician.stores.document import Lease

Continuation: TypeAlias = Callable[[RunRecord, Lease], Coroutine[object, object, object]]
_POLL: Final = 0.5
"""Seconds between looks at a run that sends no events here, since another program runs it."""
_ANYBODY: Final = Respondent()


def has_rested(record: RunRecord) -> bool:
    """Return whether a run goes no further by itself: it has ended, is stuck or paused, or waits for a person.

    A run that waits only for replies of other programs goes on when these come.
    """
    if record.status is RunStatus.WAITING:
        pending = record.header.pending
        return not (waits_for_replies(pending) or any(request.is_answered for request in pending))
    return record.status not in (RunStatus.NOT_STARTED, RunStatus.RUNNING)


def waits_for_replies(pending: Collection[PendingRequest]) -> bool:
    """Return whether a run that waits for some requests needs nothing but replies of other programs."""
    return bool(pending) and not any(request.is_for_people for request in pending)


class RunClient:
    """Client of the runs of a platform with a store, which any program may continue.

    Args:
        platform: the platform.
        feed: the events of the runs that this program continues; without it, `follow` yields only the end of a run.
        wake: called when a run has become due, to let the worker of this program look for runs at once.
        name: name of the client, the first word of the name under which it holds leases.
        names: names of the runs that the client continues itself; all by default.
        lease: seconds after which others continue the runs that the client continues itself.
        poll: seconds between looks at a run that another program continues.
    """

    def __init__(
        self,
        platform: Platform,
        feed: EventFeed | None = None,
        *,
        wake: Callable[[], None] = lambda: None,
        name: str = "client",
        names: Collection[str] = (),
        lease: float = 30.0,
        poll: float = _POLL,
    ) -> None:
        self._platform = platform
        self._feed = feed
        self._wake = wake
        self._owner = f"{name}-{new_id()}"
        self._names = names
        self._lease = lease
        self._poll = poll
        self._clock = platform.services.clock
        self._runs = RunStore(platform.store)
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def running(self) -> int:
        """Number of runs that the client continues itself."""
        return len(self._running)

    async def start(self, agent: object, *objects: object, **settings: Unpack[EnqueueOptions]) -> str:
        """Start a run of a registered Runnable, and return its id at once; see `Platform.enqueue`."""
        run_id = await self._platform.enqueue(agent, *objects, **settings)
        self._wake()
        return run_id

    async def find(self, run_id: str) -> RunRecord:
        """Return the record of a run, without its state.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when it cannot be read.
        """
        record = await self._runs.load(run_id, with_body=False)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r}.")
        return record

    async def find_started(self, key: str | None) -> str | None:
        """Return the id of the run that was started with an idempotency key, if any."""
        records = [] if key is None else await self._runs.find(idempotency_key=key)
        return records[0].run_id if records else None

    async def answer(self, run_id: str, responses: Mapping[str, Response], respondent: Respondent = _ANYBODY) -> bool:
        """Keep answers to requests of a run, and wake the worker of this program; see `Platform.keep_answers`."""
        role, name, key = respondent.role, respondent.name, respondent.key
        is_new = await self._platform.keep_answers(run_id, responses, role=role, by=name, key=key)
        self._wake()
        return is_new

    async def cancel(self, run_id: str, reason: str) -> RunStatus:
        """End a run for good, wherever it runs, and return its status. A run that has ended stays as it is.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        status = await self._platform.kill(run_id, reason)
        if (task := self._running.get(run_id)) is not None:
            task.cancel()
            await asyncio.wait({task})
        return status

    async def continue_here(self, carry_on: Continuation, run_id: str | None = None) -> asyncio.Task[None] | None:
        """Claim a run, or any that can continue, and carry on with it in a task of its own.

        Args:
            carry_on: continues the run that was claimed; what it raises is in the record of the run.
            run_id: id of the run.

        Returns:
            The task; `None` when there is nothing to continue, or somebody else does.
        """
        if run_id is not None and (task := self._running.get(run_id)) is not None:
            return task
        claimed = await self._claim(run_id)
        return None if claimed is None else self._spawn(claimed[0].run_id, carry_on(*claimed))

    async def wait(self, run_id: str, stop: asyncio.Event) -> RunRecord:
        """Return the record of a run once it rests, or `stop` is set.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        while not (has_rested(record := await self.find(run_id)) or stop.is_set()):
            if (task := self._running.get(run_id)) is not None:
                await asyncio.wait({task})
            else:
                await self.pause(stop)
        return record

    async def wait_for_result(self, run_id: str) -> RunResult[object]:
        """Return the result of a run once it rests.

        Raises:
            RunError: when the run has failed, was ended or is stuck.
            RunNotFoundError: when there is no such run.
        """
        return await self._create_result(await self.wait(run_id, asyncio.Event()))

    async def pause(self, stop: asyncio.Event) -> None:
        """Wait until it is time to look again at runs that others continue, or `stop` is set."""
        await wait_for_event(stop, self._poll, self._clock)

    async def follow(self, run_id: str) -> AsyncGenerator[Event]:
        """Yield the events of a run that are kept, and those to come, until it rests; a pause is no rest.

        The first is its start, whether that is kept or not, and the last `RunCompleted`.

        Raises:
            RunError: when the run has failed, was ended or is stuck.
            RunNotFoundError: when the run does not exist.
        """
        self._wake()
        record = await self.find(run_id)
        yield RunStarted(run_id=run_id, path=(record.name,), kind=record.kind)
        if _is_moving(record):
            async with aclosing(self._read_events(run_id)) as events:
                async for event in events:
                    yield event
            record = await self.find(run_id)
        yield RunCompleted(run_id=run_id, path=(record.name,), result=await self._create_result(record))

    async def start_or_follow(
        self,
        key: str | None,
        begin: Callable[[], AsyncGenerator[Event]],
        on_earlier: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Event]:
        """Yield the events of a new run, or of an earlier run with the same idempotency key.

        Args:
            key: the key.
            begin: begins a run with the key here, and yields its events, of which the last is `RunCompleted`.
            on_earlier: called before the events of an earlier run.

        Raises:
            RunError: as `follow`, and what `begin` raises.
        """
        begun_id: str | None = None
        if (run_id := await self.find_started(key)) is None:
            try:
                async with aclosing(begin()) as events:
                    async for event in events:
                        begun_id = begun_id or event.run_id
                        yield event
            except (RunConflictError, LeaseLostError):  # the same request has come elsewhere at the same time
                if (run_id := await self.find_started(key)) in (None, begun_id):
                    raise
            else:
                return
        assert run_id is not None
        on_earlier()
        async with aclosing(self.follow(run_id)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Interrupt the runs that the client continues itself. Others continue them."""
        running = tuple(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _spawn(self, run_id: str, work: Coroutine[object, object, object]) -> asyncio.Task[None]:
        async def carry_on() -> None:
            with suppress(Exception):  # its record says how it ended
                await work

        task = self._running[run_id] = asyncio.create_task(carry_on())
        task.add_done_callback(lambda _: self._running.pop(run_id, None))
        return task

    async def _claim(self, run_id: str | None) -> tuple[RunRecord, Lease] | None:
        return await self._runs.claim(self._owner, self._lease, run_id=run_id, names=self._names)

    async def _read_events(self, run_id: str) -> AsyncGenerator[Event]:
        """Yield the events of a run until it rests."""
        unread: asyncio.Queue[Event] = asyncio.Queue()
        reading = asyncio.create_task(self._read_feed(run_id, unread))
        try:
            is_moving = True
            while is_moving or not unread.empty():
                try:
                    with Timeout(self._poll, self._clock):
                        event = await unread.get()
                except TimeoutError:
                    is_moving = _is_moving(await self.find(run_id))
                else:
                    yield event
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read_feed(self, run_id: str, unread: asyncio.Queue[Event]) -> None:
        """Put the events of a run into a queue, also after the feed has dropped a reader that was too slow."""
        after = 0
        while self._feed is not None:
            async with aclosing(self._feed.read(run_id, after)) as batches:
                async for entries in batches:
                    for entry in entries:
                        after = entry.number
                        unread.put_nowait(entry.event)

    async def _create_result(self, record: RunRecord) -> RunResult[object]:
        run_id, status, failure = record.run_id, record.status, record.header.failure
        if status in (RunStatus.COMPLETED, RunStatus.RESTING):
            return RunResult(await self._platform.output(run_id), status, run_id=run_id)
        if status is RunStatus.WAITING:
            return RunResult(None, status, pending=record.header.pending, run_id=run_id)
        result: RunResult[None] = RunResult(None, status, run_id=run_id)
        if record.header.refuses_input:
            raise GuardrailError.restore(failure or "", result)
        raise RunError(failure or f"The run {run_id} {status.sentence}.", result)


def _is_moving(record: RunRecord) -> bool:
    """Return whether a run continues without its follower: also one that somebody has paused, and will resume."""
    return not has_rested(record) or record.status is RunStatus.PAUSED
