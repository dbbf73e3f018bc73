"""Run that is kept in a store: saved after each step, under a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import replace
from typing import Final

from tactician.cancellation import run_to_completion
from tactician.errors import LeaseLostError, RunConflictError, StoredStateError
from tactician.runs.context.context import RunContext
from tactician.runs.context.step_events import StepEvents
from tactician.runs.context.telemetry import find_trace_parent
from tactician.runs.life.holding import HeldRun
from tactician.runs.outcomes.budget import NOTHING_SPENT, Spent
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest
from tactician.runs.progress.checkpoint import Checkpoint, Operation
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.spending import take_spent
from tactician.runs.progress.steps import NO_LOG, LogSize, RunStart, RunStep, Snapshot, shorten
from tactician.runs.progress.store import measure_body, measure_step
from tactician.stores.checks import escape_invalid
from tactician.stores.document import AT_ONCE, Body, Lease
from tactician.stores.lease_heartbeat import LEASE_HEARTBEAT
from tactician.trace.capture import CaptureMode

_FOLD_AT_LEAST: Final = 256 * 1024


class DurableRun(HeldRun):
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
        super().__init__(context, record, owner, lease=lease, seconds=seconds)
        self.meter = context.meter
        self._tree = context.checkpoint
        self._start = start
        self._operations: list[Operation] = []
        self._snapshot_size, self._log_size = size
        self._saving = asyncio.Lock()
        self._is_durable = context.services.is_durable
        self._tree.connect(self if self._is_durable else None)

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
