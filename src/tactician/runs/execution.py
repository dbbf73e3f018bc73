"""How a run begins, is saved when it has to wait, and goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Final, Literal, NotRequired, TypeAlias, TypeVar, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.llm import Usage, messages_from_json, messages_to_json
from tactician.runs.budget import Budget, BudgetMeter
from tactician.runs.checkpoint import Checkpoint, SavedCheckpoint
from tactician.runs.context import RunContext
from tactician.runs.events import RunSuspended
from tactician.runs.result import RunResult, RunStatus
from tactician.runs.runnable import Input, is_conversation, messages_of
from tactician.runs.store import RunRecord, RunStore
from tactician.runs.suspension import PendingRequest, Response, Suspended, find_suspension
from tactician.stores import translate_json_errors

T = TypeVar("T")
Work: TypeAlias = Callable[[Input, RunContext], Awaitable[RunResult[T]]]
_VERSION: Final = 1
_LIMITS = tuple(limit.name for limit in fields(Budget))


class _SavedRun(TypedDict):
    """The state of an outermost run as JSON. `limits` are those of its budget, `turns`, `seconds` and
    `actions` what it used."""

    version: Literal[1]
    input: JsonValue
    kind: Literal["messages", "value"]
    checkpoint: SavedCheckpoint
    pending: list[PendingRequest]
    usage: list[Usage]
    limits: dict[str, float | None] | None
    turns: int
    seconds: float
    actions: NotRequired[int]


async def start_run(
    name: str, input: Input, context: RunContext | None, budget: Budget | None, work: Work[T]
) -> RunResult[T]:
    """Does the work as a run inside the context. A run inside no other is saved when it has to wait."""
    outer = context or RunContext.default()
    child = outer.child(name, budget)
    try:
        return await work(input, child)
    except BaseException as error:
        if (paused := find_suspension(error)) is None:
            raise
        if outer.checkpoint is not None:
            raise paused from error
        return await _wait(name, input, child, paused, None)


async def resume_run(
    name: str, run_id: str, responses: Mapping[str, Response], context: RunContext | None, work: Work[T]
) -> RunResult[T]:
    """Goes on with a run that waits, told what it waited for. It may be told a part only, and waits for the rest.

    Raises:
        RunNotFoundError: when no run of this name waits with the id.
        RunConflictError: when somebody else has taken it up.
        StoredStateError: when its record cannot be read.
    """
    outer = context or RunContext.default()
    record = await _waiting(name, run_id, outer)
    saved = _read(record)
    _check(responses, record.run_id, saved["pending"])
    store = RunStore(outer.store)
    taken = await store.save(replace(record, status=RunStatus.RUNNING))
    child = replace(_restored(name, saved, outer, run_id), responses=responses)
    given = messages_from_json(to_json(saved["input"])) if saved["kind"] == "messages" else saved["input"]
    try:
        result = await work(given, child)
    except BaseException as error:  # it still waits, with what it has done since
        if (paused := find_suspension(error)) is not None:
            return await _wait(name, given, child, paused, taken)
        state = _state_of(given, child, saved["pending"])
        await store.save(replace(taken, status=RunStatus.WAITING, state=state))
        raise
    await store.delete(run_id)
    return result


async def pending_of(name: str, run_id: str, context: RunContext | None) -> tuple[PendingRequest, ...]:
    """What a run waits for.

    Raises:
        RunNotFoundError: when no run of this name waits with the id.
        StoredStateError: when its record cannot be read.
    """
    return read_pending(await _waiting(name, run_id, context or RunContext.default()))


def read_pending(record: RunRecord) -> tuple[PendingRequest, ...]:
    """Return what the run of a record waits for.

    Raises:
        StoredStateError: when the record cannot be read.
    """
    return tuple(_read(record)["pending"])


async def _waiting(name: str, run_id: str, context: RunContext) -> RunRecord:
    record = await RunStore(context.store).load(run_id)
    if record is not None and record.name == name and record.status == RunStatus.WAITING:
        return record
    stands = "there is none" if record is None else f"it is a run of {record.name!r}, and {record.status}"
    raise RunNotFoundError(f"{name}: no run waits with the id {run_id!r}: {stands}")


def _check(responses: Mapping[str, Response], run_id: str, pending: Sequence[PendingRequest]) -> None:
    known = [request.id for request in pending]
    if unknown := responses.keys() - set(known):
        raise RunNotFoundError(f"The run {run_id} does not wait for {sorted(unknown)}; it waits for {known}")


async def _wait(name: str, input: Input, run: RunContext, paused: Suspended, record: RunRecord | None) -> RunResult[T]:
    version = 0 if record is None else record.version
    state = _state_of(input, run, paused.pending)
    await RunStore(run.store).save(RunRecord(run.run_id, name, RunStatus.WAITING, state, version))
    run.emit(RunSuspended, pending=paused.pending)
    result = RunResult(None, RunStatus.WAITING, tally=run.tally, run_id=run.run_id, pending=paused.pending)
    return cast("RunResult[T]", result)  # it has no output yet


def _state_of(input: Input, run: RunContext, pending: Sequence[PendingRequest]) -> str:
    assert run.checkpoint is not None
    is_said = isinstance(input, str) or is_conversation(input)
    budget = None if (meter := run.meter) is None else meter.budget
    with translate_json_errors(f"The run {run.run_id} of {run.path[-1]}"):
        state = _SavedRun(
            version=_VERSION,
            input=from_json(messages_to_json(messages_of(input))) if is_said else to_jsonable_python(input),
            kind="messages" if is_said else "value",
            checkpoint=run.checkpoint.to_json(),
            pending=list(pending),
            usage=list(run.tally.by_model.values()),
            limits=None if budget is None else {name: getattr(budget, name) for name in _LIMITS},
            turns=0 if meter is None else meter.turns,
            seconds=0.0 if meter is None else meter.seconds,
            actions=0 if meter is None else meter.actions,
        )
        return to_json(state).decode()


def _read(record: RunRecord) -> _SavedRun:
    try:
        return _adapter().validate_json(record.state)
    except ValidationError as error:
        raise StoredStateError(f"The record of the run {record.run_id} cannot be read: {error}") from error


def _restored(name: str, saved: _SavedRun, outer: RunContext, run_id: str) -> RunContext:
    child = outer.child(name)
    for used in saved["usage"]:
        child.tally.add(used)
    meter = outer.meter
    if (limits := saved["limits"]) is not None:
        budget = TypeAdapter(Budget).validate_python(limits)
        meter = BudgetMeter(budget, child.tally, outer.clock, meter)
        meter.restore(saved["turns"], saved["seconds"], saved.get("actions", 0))
    return replace(child, run_id=run_id, meter=meter, checkpoint=Checkpoint.from_json(name, saved["checkpoint"]))


@cache
def _adapter() -> TypeAdapter[_SavedRun]:
    return TypeAdapter(_SavedRun)
