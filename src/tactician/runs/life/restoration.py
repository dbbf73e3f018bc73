"""Restoration of runs from what is stored, so that they continue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tactician.cancellation import run_to_completion
from tactician.frozen import frozen
from tactician.runs.context.context import RunContext
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.kept_artifacts import restore_artifacts
from tactician.runs.outcomes.budget import BudgetMeter, restore_budget
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest, Response
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.steps import RunStart, RunState
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.answers import collect_responses
from tactician.runs.user import ChatUser, ConversationId, find_conversation, find_user
from tactician.stores.document import Lease


@frozen
class RestoredRun:
    """Run that was claimed, as it continues.

    Attributes:
        run: its keeper, which has the lease.
        context: its context, with all answers.
        start: its beginning.
    """

    run: DurableRun
    context: RunContext
    start: RunStart

    @property
    def tree(self) -> Checkpoint:
        """The checkpoint of the run."""
        assert self.context.checkpoint is not None
        return self.context.checkpoint

    @property
    def open_requests(self) -> tuple[PendingRequest, ...]:
        """The requests that the run waits for, without those that have an answer."""
        pending = self.run.record.header.pending
        return tuple(request for request in pending if request.id not in self.context.responses)

    @property
    def has_to_wait(self) -> bool:
        """True when none of the requests that the run waits for has an answer."""
        record = self.run.record
        waits = record.status is RunStatus.WAITING and bool(record.header.pending)
        return waits and self.open_requests == record.header.pending


async def restore_claimed(
    record: RunRecord,
    lease: Lease,
    outer: RunContext,
    seconds: float | None = None,
    responses: Mapping[str, Response] = MappingProxyType({}),
) -> RestoredRun:
    """Restore a run that was claimed. Release the lease if that fails."""
    try:
        state = await RunStore(outer.store).load_state(record)
        context = restore_context(record, state, outer, responses)
        run = DurableRun(context, record, lease.owner, lease=lease, seconds=seconds, start=state.start, size=state.size)
        return RestoredRun(run, context, state.start)
    except BaseException:
        await run_to_completion(outer.store.release(lease))
        raise


def restore_context(
    record: RunRecord, state: RunState, outer: RunContext, responses: Mapping[str, Response]
) -> RunContext:
    """Return the context in which a run continues, with the user that it works for and all answers that count."""
    if (user := find_user(state.tree)) is not None:
        outer = outer.inside({ChatUser: user})
    if (conversation := find_conversation(state.tree)) is not None:
        outer = outer.inside({ConversationId: conversation})
    child = outer.child(record.name)
    if child.artifacts is not None:
        child.artifacts.earlier = restore_artifacts(state.tree)
    spent = state.spent
    for used in spent["usage"]:
        child.tally.add(used)
    meter = BudgetMeter(restore_budget(state.start["limits"]), child.tally, outer.clock, outer.meter)
    meter.restore(spent)
    restored = replace(
        child,
        run_id=record.run_id,
        root_id=record.run_id,
        parent_id=record.parent_id,
        model=record.header.model or child.model,
        trace_parent=record.header.trace_parent,
        meter=meter,
        checkpoint=state.tree,
        responses={**collect_responses(state.tree, record.header.pending, outer.clock.time()), **responses},
    )
    deadline = record.header.deadline
    return restored if deadline is None else restored.with_deadline(deadline)
