"""Creation of runs that are inside no other: their records, and what they begin with."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pydantic

from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.llm.model import ToolSpec
from tactician.runs.context.context import RunContext
from tactician.runs.context.telemetry import find_trace_parent
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.inputs import NO_TYPES, InputTypes, save_input
from tactician.runs.outcomes.budget import NOTHING_SPENT, save_budget
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.progress.checkpoint import Live, revive
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.steps import RunStart, Snapshot
from tactician.runs.progress.store import RunStore
from tactician.runs.runnable import Input
from tactician.runs.user import ChatUser, ConversationId, record_conversation, record_user

OWNER: Final = f"program-{new_id()}"
"""Name of the owner of leases of runs that begin or are resumed in this program."""
_TOOLS: Final = "@tools"
"""Key of the checkpoint with the tools of the caller, inside the outermost checkpoint."""


@frozen
class RunKey:
    """Idempotency key of the outermost run that starts inside a context. No two runs of a store have the same.

    Attributes:
        value: the key.
    """

    value: str


@frozen
class CallerTools:
    """Tools that the caller of a run executes: each agent inside has them that gives the answer of the outermost run.

    A call of one waits for the caller, as with `@tool(client_side=True)`. A tool of the agent overrides one of the same
    name. The run keeps them for the program that continues it.

    Attributes:
        specs: the tools, as the model sees them.
    """

    specs: tuple[ToolSpec, ...]


def find_caller_tools(context: RunContext) -> tuple[ToolSpec, ...]:
    """Return the tools that the callers sent who started and resumed the outermost run.

    An inner run has none if its text is not the answer of the outermost run, such as the run of a worker.
    """
    if context.answer_level and len(context.path) > 1:
        return ()
    offered = context.find(CallerTools) if context.surroundings else None
    places = [] if context.checkpoint is None else context.checkpoint.find_upwards(_TOOLS)
    if offered is None and not places:
        return ()
    specs = {spec.name: spec for place in places for spec in revive(place.data["specs"], _read_specs)}
    if offered is not None:
        specs |= {spec.name: spec for spec in offered.specs}
    return tuple(specs.values())


def _read_specs(saved: object) -> tuple[ToolSpec, ...]:
    return pydantic.TypeAdapter(tuple[ToolSpec, ...]).validate_python(saved)


def create_durable_run(
    name: str, input: Input, context: RunContext, *, kind: str = "run", input_types: InputTypes = NO_TYPES
) -> DurableRun:
    """Return the keeper of a new run, which is not in the store yet.

    Raises:
        StoredStateError: when the run is saved, and its input would not be read back equal.
    """
    _record_caller(context)
    start = create_start(name, input, context, input_types)
    return DurableRun(context, create_record(name, context, kind), OWNER, start=start)


def _record_caller(context: RunContext) -> None:
    """Set in the checkpoint of a new run its user, its conversation, and the tools that the caller executes."""
    tree = context.checkpoint
    assert tree is not None
    if (user := context.find(ChatUser)) is not None:
        record_user(tree, user)
    if (conversation := context.find(ConversationId)) is not None:
        record_conversation(tree, conversation)
    if (offered := context.find(CallerTools)) is not None:
        tree.at(_TOOLS).set(specs=Live(offered.specs))


def create_record(name: str, context: RunContext, kind: str) -> RunRecord:
    """Return the record of a new run, without its state. A context without a run, such as a platform's, has no id."""
    key, user = context.find(RunKey), context.find(ChatUser)
    header = RunHeader(
        started_at=context.clock.time(),
        deadline=context.deadline,
        trace_parent=context.trace_parent,
        user=None if user is None else user.id,
    )
    return RunRecord(
        run_id=context.run_id,
        name=name,
        status=RunStatus.RUNNING,
        kind=kind,
        parent_id=context.parent_id if len(context.path) > 1 else None,
        idempotency_key=None if key is None else key.value,
        header=header,
    )


def create_start(name: str, input: Input, context: RunContext, input_types: InputTypes) -> RunStart:
    """Return the beginning of a run.

    Raises:
        StoredStateError: when the run is saved, and its input would not be read back equal.
    """
    meter = context.meter
    limits = {} if meter is None else save_budget(meter.budget)
    return RunStart(input=save_input(input, name, input_types, is_saved=context.is_durable), limits=limits)


async def enqueue_run(
    record: RunRecord, input: Input, context: RunContext, *, input_types: InputTypes = NO_TYPES
) -> RunRecord:
    """Save a new run for a worker to start.

    Raises:
        RunConflictError: when there is a run with its idempotency key.
        StoredStateError: when its input would not be read back equal.
    """
    assert context.checkpoint is not None
    _record_caller(context)
    runs = RunStore(context.store)
    start, tree = create_start(record.name, input, context, input_types), context.checkpoint.to_saved()
    body = runs.encode(Snapshot(start=start, spent=NOTHING_SPENT, tree=tree))
    header = replace(record.header, trace_parent=record.header.trace_parent or find_trace_parent(record.run_id))
    return await runs.save(replace(record, status=RunStatus.NOT_STARTED, header=header, body=body))
