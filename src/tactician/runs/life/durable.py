"""Run that is kept in a store: saved after each step, under a lease that is renewed as long as the run continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from tactician.cancellation import run_to_completion
from tactician.clock import pause
from tactician.errors import LeaseLostError, RunConflictError, RunNotFoundError, StoredStateError, StoreError
from tactician.runs.context.context import RunContext
from tactician.runs.context.step_events import StepEvents
from tactician.runs.context.telemetry import find_trace_parent
from tactician.runs.outcomes.budget import NOTHING_SPENT, Spent
from tactician.runs.outcomes.errors import RunKilledError
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.runs.progress.checkpoint import Checkpoint, Operation
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.spending import take_spent
from tactician.runs.progress.steps import NO_LOG, LogSize, RunStart, RunStep, Snapshot, shorten
from tactician.runs.progress.store import RunStore, measure_body, measure_step
from tactician.stores import DocumentStore
from tactician.stores.checks import escape_invalid
from tactician.stores.document import AT_ONCE, Body, Lease
from tactician.stores.lease_heartbeat import LEASE_HEARTBEAT, HeldLease
from tactician.trace.capture import CaptureMode

DEFAULT_LEASE: Final = 30.0
_HEARTBEATS: Final = 3
_KILL_ATTEMPTS: Final = 20
_FOLD_AT_LEAST: Final = 256 * 1024


class LeaseTime:
    """Service with the duration of the leases of runs, as far as nobody asks for another.

    Attributes:
        seconds: seconds after which others continue the runs of a program that has died.
    """

    def __init__(self) -> None:
        self.seconds = DEFAULT_LEASE


class DurableRun:
    """Keeper of a run in a store, for as long as its lease is held here.

    It is the journal of the run's checkpoints: each step is appended to the log of the run with the changes that it
    made. When the log has grown as large as the last snapshot, the record gets a new snapshot, so that a step costs the
    same however long the run is.

    Args:
        context: context of the run, with its checkpoint.
        record: record as loaded or claimed; version 0 for a new run.
        owner: name of the owner of its leases.
        lease: lease of a record that was claimed.
        seconds: duration of a lease, which is renewed three times in that time; `LeaseTime` by default.
        start: beginning of the run.
        size: size of the log of a run that was restored.

    Attributes:
        record: record as last loaded or saved.
        killed: why the run was killed in the store; `None` when it was not.
        meter: meter of the budget of the run, if any.
    """

    def __init__(
        self,
        context: RunContext,
        record: RunRecord,
        owner: str,
        *,
        lease: Lease | None = None,
        seconds: float | None = None,
        start: RunStart | None = None,
        size: LogSize = NO_LOG,
    ) -> None:
        assert context.checkpoint is not None
        self.record = record
        self.killed: str | None = None
        self.meter = context.meter
        self._context = context
        self._tree = context.checkpoint
        self._runs = RunStore(context.store)
        self._owner = owner
        self._seconds = context.services.find(LeaseTime).seconds if seconds is None else seconds
        self._start = start
        self._lease = None if lease is None else self._watch(lease)
        self._steps = record.steps
        self._operations: list[Operation] = []
        self._snapshot_size, self._log_size = size
        self._saving = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None
        self._was_interrupted = self._has_interrupted = False
        self._failure: Exception | None = None
        self._is_durable = context.services.is_durable
        self._tree.connect(self if self._is_durable else None)

    @property
    def was_interrupted(self) -> bool:
        """True when the run was interrupted in the middle of a step: only its record can continue."""
        return self._was_interrupted

    @property
    def is_held(self) -> bool:
        """True while the run continues here."""
        return self._holder is not None

    def is_current(self, record: RunRecord) -> bool:
        """Return whether the record is as it was last loaded or saved here, so that the live objects are up to date."""
        is_same = (record.version, record.steps) == (self.record.version, self._steps)
        return is_same and not self._was_interrupted and self._failure is None

    def adopt(self, record: RunRecord, lease: Lease, seconds: float) -> None:
        """Use a lease that was claimed for the run."""
        self.record, self._seconds = replace(record, body=None), seconds
        self._lease = self._watch(lease)

    def record_operation(self, operation: Operation) -> None:
        """Note a change of a checkpoint; the next step that is saved has it."""
        self._operations.append(operation)

    async def save(self, checkpoint: Checkpoint, kind: str, name: str = "", detail: str = "") -> None:
        """Append a step with all changes noted so far, and a checkpoint's changes.

        What still runs of a run that has ended here, such as a run that killed itself, is no longer saved.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            RunKilledError: when the run was killed in the store.
            StoredStateError: when something has no JSON form; the store has the state before this step.
            StoreError: when the store does not answer, or once did not: then the run continues elsewhere, from its
                last saved step, and its results here do not count.
        """
        operations = (*self._take_operations(), *checkpoint.take_changes(), *take_spent(checkpoint))
        step = self._create_step(kind, name, detail, checkpoint.names, operations)
        await self._write(lambda: self._write_step(step))

    async def begin(self, detail: str = "") -> None:
        """Append the step with which the run starts or resumes; a fork that has not run begins with a step already."""
        if not self._steps or self.record.status is not RunStatus.NOT_STARTED:
            await self.save_all("resume" if self._steps else "start", detail=detail)

    async def save_all(
        self, kind: str, name: str = "", detail: str = "", pending: tuple[PendingRequest, ...] = ()
    ) -> None:
        """Append a step with the changes of all checkpoints, and the requests that the run waits for; see `save`."""
        if self._is_durable:
            step = self._create_full_step(kind, name, detail, pending)
            await self._write(lambda: self._write_step(step))

    async def save_status(
        self,
        status: RunStatus,
        *,
        step: str = "",
        detail: str = "",
        pending: tuple[PendingRequest, ...] = (),
        failure: str | None = None,
        refuses_input: bool = False,
        output: str = "",
        is_due: bool = False,
    ) -> None:
        """Save the status of the run, and what it waits for; `is_due` lets any worker continue a run that waits.

        A `step` of that kind, with its `detail`, is saved with the status in one write, and the lease is released: the
        run rests. Without a durable store, a run that waits is saved as a whole, and an ended run is forgotten.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            RunKilledError: when the run was killed in the store.
            StoreError: when the store does not answer.
        """
        # The status must reach the store even when the text of the error cannot.
        failure = None if failure is None else escape_invalid(failure)  # it may quote what cannot be stored
        header = replace(
            self.record.header,
            pending=pending,
            failure=failure,
            refuses_input=refuses_input,
            output=shorten(output),
            spent=self._sum_spending(),
        )
        wakes_at = header.find_wake_time(self._context.clock.time()) if status is RunStatus.WAITING else None
        wakes_at = AT_ONCE if is_due else wakes_at
        asked = pending if failure is None else ()
        last = self._create_full_step(step, "", detail, asked) if step and self._is_durable else None

        async def write() -> None:
            if last is not None and self._lease is not None and not self.record.has_ended:
                await self._write_rest(last, status, header, wakes_at)
                return
            if last is not None:
                await self._write_step(last)
            await self._write_status(status, header, wakes_at)

        await self._write(write)

    async def show_pending(self, asked: Iterable[PendingRequest], answered: Collection[str] = ()) -> None:
        """Show requests in the record while other parts of the run continue, and no longer those with some ids.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            RunKilledError: when the run was killed in the store.
            StoreError: when the store does not answer.
        """
        asked = tuple(asked)
        await self._write(lambda: self._write_pending(asked, answered))

    async def check_lease(self) -> None:
        """Make sure that the run is still this worker's, before a step begins: it may have been frozen meanwhile.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            RunKilledError: when the run was killed in the store.
            Exception: any that kept an earlier step from being saved.
        """
        self._check()
        if self._lease is not None and self._lease.may_have_expired:
            await self._write(self._lease.renew)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the lease of the run: claim it unless it is held already, renew it, and release it at the end.

        A new run is added to the store with its first step. What runs is interrupted when the lease is lost, or the
        run is killed.

        Raises:
            RunConflictError: when somebody else continues the run, or has done so since it was loaded.
            LeaseLostError: when the lease was lost.
            RunKilledError: when the run was killed in the store.
        """
        if self._holder is not None and self._holder is asyncio.current_task():
            yield
            return
        # The claim is outside of `try`: a run that somebody else holds was not interrupted here.
        await self._acquire()
        try:
            async with self._renew_lease():
                yield
        except BaseException:
            # The live objects may be halfway through a step, so only the stored state may continue. A run that waits
            # or has ended was saved whole.
            self._was_interrupted = self.record.status is RunStatus.RUNNING
            raise
        finally:
            self._holder = None
            await self._release()

    def _take_operations(self) -> list[Operation]:
        taken, self._operations = self._operations, []
        return taken

    def _take_events(self) -> str:
        events = self._context.find(StepEvents)
        return "" if events is None else events.take(self._context.services)

    def _create_full_step(self, kind: str, name: str, detail: str, pending: tuple[PendingRequest, ...]) -> RunStep:
        """Return a step with the changes of all checkpoints."""
        if self._steps:
            changes = [change for checkpoint in self._tree.walk() for change in checkpoint.take_changes()]
        else:  # the first step has the whole state, so that the steps alone are enough to fork the run
            changes = [checkpoint.to_operation() for checkpoint in self._tree.walk()]
        return self._create_step(kind, name, detail, self._tree.names, (*self._take_operations(), *changes), pending)

    def _create_step(
        self,
        kind: str,
        name: str,
        detail: str,
        path: tuple[str, ...],
        operations: tuple[Operation, ...],
        pending: tuple[PendingRequest, ...] = (),
    ) -> RunStep:
        return RunStep(
            kind=kind,
            name=name,
            detail=shorten(detail),
            path=path,
            at=self._context.clock.time(),
            spent=self._sum_spending(),
            pending=pending,
            operations=operations,
            start=self._start if not self._steps else None,
            events=self._take_events(),
        )

    async def _write(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Write to the store once all that came before is written, whatever is cancelled meanwhile."""
        # A write that is cut off would leave it unknown whether the step is in the store (decision 17).
        await run_to_completion(self._write_in_turn(work))

    async def _write_in_turn(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        """Write to the store. Remember what keeps that from being done before anything else is written."""
        async with self._saving:
            try:
                await work()
            except RunConflictError:
                if (reason := await self._find_kill()) is not None:
                    raise self._set_killed(reason) from None
                self._failure = LeaseLostError(
                    f"The run {self.record.run_id} was changed by another worker while it was running here."
                )
                raise self._failure from None
            except Exception as error:
                self._failure = error
                raise

    async def _write_step(self, step: RunStep) -> None:
        self._check()
        # After a kill of the run by itself, its last steps still arrive here: nothing may follow the end.
        if self.record.has_ended:
            return
        body = self._runs.encode(step)
        # A run enters the store when its first step is saved, and already claimed: no worker can find it unclaimed.
        if self._lease is None and not self.record.version:
            record = replace(self.record, body=self._take_snapshot(), header=self._complete_header(self.record.header))
            self.record, lease = await self._runs.add_and_claim(record, self._owner, self._seconds, body)
            self._lease = self._watch(lease)
            LEASE_HEARTBEAT.add(self._lease)
        else:
            assert self._lease is not None
            await self._runs.append(self._lease.lease, self._steps + 1, body)
        self._log_size += measure_step(body, step)
        self._steps += 1
        # A snapshot is written when the log is as large as the last one, so that the cost of snapshots for each step
        # stays constant.
        if self._log_size > max(_FOLD_AT_LEAST, self._snapshot_size):
            await self._fold()

    async def _write_rest(self, step: RunStep, status: RunStatus, header: RunHeader, wakes_at: float | None) -> None:
        """Save the last step for now and the status, and release the lease."""
        self._check()
        held, body = self._lease, self._runs.encode(step)
        assert held is not None
        record = replace(self.record, status=status, header=self._complete_header(header), wakes_at=wakes_at)
        self.record = await self._runs.rest(record, held.lease, self._steps + 1, body)
        self._lease = None
        LEASE_HEARTBEAT.discard(held)
        self._log_size += measure_step(body, step)
        self._steps += 1

    async def _write_status(self, status: RunStatus, header: RunHeader, wakes_at: float | None) -> None:
        # A state that has no JSON form ends the run, and that end can be saved: the store itself works.
        if not isinstance(self._failure, StoredStateError):
            self._check()
        if status.is_terminal and not self._is_durable:
            await self._runs.delete(self.record.run_id)
            return
        record = replace(self.record, status=status, header=self._complete_header(header), wakes_at=wakes_at)
        # There may be no lease for steps, of a run that is killed.
        is_whole = not self._is_durable or status is RunStatus.KILLED or not record.version
        await self._write_record(replace(record, body=self._take_snapshot()) if is_whole else record)

    def _complete_header(self, header: RunHeader) -> RunHeader:
        """Return the header with the trace context of the run, and how much of it is captured."""
        trace_parent = header.trace_parent or find_trace_parent(self.record.run_id)
        capture = self._context.find(CaptureMode) or header.capture
        if (trace_parent, capture) == (header.trace_parent, header.capture):
            return header
        return replace(header, trace_parent=trace_parent, capture=capture)

    async def _write_pending(self, asked: Iterable[PendingRequest], answered: Collection[str]) -> None:
        self._check()
        header = self.record.header
        open_requests = {request.id: request for request in (*header.pending, *asked) if request.id not in answered}
        pending = tuple(open_requests.values())
        if self.record.status is RunStatus.RUNNING and pending != header.pending:
            await self._write_record(
                replace(self.record, header=replace(header, pending=pending, spent=self._sum_spending()))
            )

    async def _fold(self) -> None:
        """Save a snapshot of all steps so far."""
        record = await self._runs.load(self.record.run_id)
        if record is not None:
            # From the stored steps, not from memory: live objects may have changed since the last step was saved.
            state = await self._runs.load_state(record, at=self._steps)
            tree = state.tree.to_saved()
            body = self._runs.encode(Snapshot(step=self._steps, start=state.start, spent=state.spent, tree=tree))
            self._log_size, self._snapshot_size = 0, measure_body(body)
            await self._write_record(replace(self.record, body=body))

    async def _write_record(self, record: RunRecord) -> None:
        self.record = await self._runs.save(record, None if self._lease is None else self._lease.lease)

    def _check(self) -> None:
        """Raise the error again that kept an earlier step from being saved: code that caught it cannot continue."""
        if self._failure is not None:
            raise self._failure

    def _take_snapshot(self) -> Body:
        assert self._start is not None
        if not self._is_durable:
            self._tree.detach()
        return self._runs.encode(
            Snapshot(step=self._steps, start=self._start, spent=self._sum_spending(), tree=self._tree.to_saved())
        )

    def _sum_spending(self) -> Spent:
        if self.meter is not None:
            return self.meter.spent
        return Spent({**NOTHING_SPENT, "usage": list(self._context.tally.by_model.values())})

    async def _acquire(self) -> None:
        run_id = self.record.run_id
        if self._holder is not None:
            raise RunConflictError(f"The run {run_id} is being continued already.")
        # Checked before the claim: claiming would take the run from a worker that can continue it.
        if self._was_interrupted:
            raise RunConflictError(
                f"The run {run_id} was interrupted: `await platform.resume({run_id!r})` continues from its checkpoint."
            )
        # Set before the first `await`: a second caller must see that the run is being continued.
        self._holder = asyncio.current_task()
        try:
            if self._lease is not None:
                LEASE_HEARTBEAT.add(self._lease)
            elif self.record.version:  # a new run gets its lease with its first step
                await self._claim()
        except BaseException:
            self._holder = None
            raise

    async def _claim(self) -> None:
        claimed = await self._runs.claim(self._owner, self._seconds, run_id=self.record.run_id)
        if claimed is None:
            raise RunConflictError(f"The run {self.record.run_id} has ended, or another worker is continuing it.")
        record, lease = claimed
        self._lease = self._watch(lease)
        LEASE_HEARTBEAT.add(self._lease)
        # Another worker may have run it between the load and the claim. Then the objects here are old, and the lease
        # goes back.
        if record.version != self.record.version or record.steps != self._steps:
            await self._release()
            raise RunConflictError(
                f"The run {record.run_id} was continued by another worker since it was loaded: load it again."
            )

    def _watch(self, lease: Lease) -> HeldLease:
        return HeldLease(self._context.store, lease, f"the run {lease.id} of {self.record.name}", self._seconds)

    async def _release(self) -> None:
        held, self._lease = self._lease, None
        if held is not None:
            LEASE_HEARTBEAT.discard(held)
            with suppress(StoreError):  # the lease expires
                await run_to_completion(self._context.store.release(held.lease))

    @asynccontextmanager
    async def _renew_lease(self) -> AsyncIterator[None]:
        task = asyncio.current_task()
        renewal = asyncio.create_task(self._renew(task))
        try:
            yield
        except asyncio.CancelledError:
            # Somebody else has cancelled the run: that is no loss of the lease.
            if task is None or self._failure is None or not self._has_interrupted:
                raise
            # The cancellation was our own signal to stop. The caller gets the reason, and cancellations by others
            # still count.
            task.uncancel()
            raise self._failure from None
        finally:
            renewal.cancel()
            with suppress(asyncio.CancelledError):
                await renewal

    async def _renew(self, task: asyncio.Task[object] | None) -> None:
        """Renew the lease again and again. Interrupt the run when it is lost, or the run was killed."""
        while self._failure is None:
            await pause(self._seconds / _HEARTBEATS, self._context.store.clock)
            if self._lease is None:
                continue
            try:
                await self._lease.renew()
                if (reason := await self._find_kill()) is not None:
                    self._set_killed(reason)
            except LeaseLostError as error:
                self._failure = error
            # A store that is down for a moment must not end the run: nobody else can claim it before the lease
            # expires.
            except StoreError:  # the lease lasts for two more renewals
                continue
        if task is not None:
            self._has_interrupted = True
            task.cancel()

    async def _find_kill(self) -> str | None:
        """Return why the run was killed in the store, if it was."""
        with suppress(StoredStateError):
            # The body of a long run is large, and only its status counts here.
            record = await self._runs.load(self.record.run_id, with_body=False)
            if record is not None and record.status is RunStatus.KILLED:
                return record.header.failure or "killed"
        return None

    def _set_killed(self, reason: str) -> RunKilledError:
        self.killed = reason
        context = self._context
        result = RunResult(None, RunStatus.KILLED, tally=context.tally, run_id=context.run_id)
        self._failure = error = RunKilledError(f"{self.record.name}: the run was killed: {reason}", result)
        return error


async def kill_run(store: DocumentStore, run_id: str, reason: str) -> bool:
    """Mark a run in a store as killed, whatever its state is; its worker notices and ends it.

    Returns:
        False when the run had ended before.

    Raises:
        RunNotFoundError: when the store has no run with this id.
        RunConflictError: when the run changes too fast.
    """
    from tactician.runs.life.withdrawals import save_withdrawals

    runs = RunStore(store)
    for _ in range(_KILL_ATTEMPTS):
        record = await runs.load_readable(run_id)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        if record.has_ended:
            return False
        # The run is not claimed first: a kill must work while its worker holds the lease, and while the worker hangs.
        header = replace(record.header, pending=(), failure=escape_invalid(reason))
        with suppress(RunConflictError):
            await runs.save(replace(record, status=RunStatus.KILLED, header=header, wakes_at=None))
            await save_withdrawals(store, record.header.pending)
            return True
    raise RunConflictError(f"{run_id} changes too fast to be killed: try again")
