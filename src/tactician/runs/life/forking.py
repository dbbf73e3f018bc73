"""Forks: new runs that begin where another run was after one of its steps, and do something differently."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace

from tactician.cancellation import run_or_undo, run_to_completion
from tactician.errors import ConfigurationError, ResponseError, RunNotFoundError, StoreError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.runs.context.context import RunContext
from tactician.runs.life.creation import create_start
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.life.inputs import InputTypes
from tactician.runs.life.output import forget_output
from tactician.runs.outcomes.budget import NOTHING_SPENT
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest, Response
from tactician.runs.progress.checkpoint import Checkpoint, Operation
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.steps import RunState, RunStep, Snapshot
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.answers import mark_answered, record_responses
from tactician.runs.requests.respondents import NOBODY, Respondent, check_roles
from tactician.runs.runnable import Input
from tactician.stores.document import AT_ONCE, Lease


@frozen(kw_only=True)
class ForkOptions:
    """Place where a fork begins, and what it does differently.

    Attributes:
        at: number of the step after which the fork begins; 0 is the start. By default the last step; with another
            input, the start; with answers, the last step after which the run waited for them.
        model: name of the model that takes the place of all others.
        input: another input, for a fork from the start; the same input, when `None`.
        responses: answers to requests for which the run waited after that step, by the ids of the requests.
    """

    at: int | None = None
    model: str | None = None
    input: Input = None
    responses: Mapping[str, Response] = field(default_factory=dict)


class Fork:
    """Fork that is not in the store yet. What is changed in its state becomes its first step of its own.

    Raises:
        StoredStateError: when an answer would not be read back equal.

    Attributes:
        run_id: id of the fork.
        source: record of the run that is forked.
        at: number of the step after which the fork begins.
        state: its state there.
    """

    def __init__(self, source: RunRecord, at: int, step: RunStep | None, state: RunState, options: ForkOptions) -> None:
        self.run_id = new_id()
        self.source = source
        self.at = at
        self.state = state
        self._options = options
        self._has_own_start = not at
        self._forked_at = source.header.started_at if step is None else step.at
        self._pending = () if step is None else mark_answered(step.pending, options.responses)
        self._changes = _Changes()
        state.tree.connect(self._changes)
        record_responses(state.tree, options.responses, self._pending)
        forget_output(state.tree)

    def replace_input(self, input: Input, context: RunContext, input_types: InputTypes) -> None:
        """Let the fork begin with another input, within the same limits.

        Raises:
            StoredStateError: when the input would not be read back equal.
        """
        start = create_start(self.source.name, input, context, input_types)
        start["limits"] = self.state.start["limits"]
        self.state = replace(self.state, start=start)
        self._has_own_start = True

    async def save(self, context: RunContext, owner: str) -> tuple[RunRecord, Lease]:
        """Save the fork as a new run with the steps of the other run; return its record and its lease.

        Raises:
            StoredStateError: when a change has no JSON form.
        """
        runs, now = RunStore(context.store), context.clock.time()
        adding = runs.add_and_claim(self._create_record(runs, now), owner, DEFAULT_LEASE)
        record, lease = await run_or_undo(adding, lambda _: self._delete(context))
        try:
            await runs.copy_steps(self.source.run_id, lease, until=self.at)
            await runs.append(lease, self.at + 1, runs.encode(self._create_step(now)))
            released = self._release(record, runs, now)
            saved = await runs.save(released, lease)
        except BaseException:
            await run_to_completion(self._delete(context))
            raise
        return replace(saved, steps=self.at + 1, body=released.body), lease

    async def _delete(self, context: RunContext) -> None:
        with suppress(StoreError):
            await RunStore(context.store).delete(self.run_id)

    def _create_record(self, runs: RunStore, now: float) -> RunRecord:
        """Return a record that no worker claims before all steps are copied."""
        source, deadline = self.source, self.source.header.deadline
        if deadline is not None and self._forked_at is not None:
            deadline += now - self._forked_at  # it has as long as the other run had
        header = RunHeader(
            started_at=now,
            spent=self.state.spent,
            deadline=deadline,
            model=self._options.model or source.header.model,
            forked_from=(source.run_id, self.at),
            capture=source.header.capture,
            user=source.header.user,
        )
        nothing = Snapshot(start=self.state.start, spent=NOTHING_SPENT, tree=Checkpoint(source.name).to_saved())
        return RunRecord(
            run_id=self.run_id,
            name=source.name,
            status=RunStatus.PAUSED,
            kind=source.kind,
            header=header,
            body=runs.encode(nothing),
        )

    def _create_step(self, now: float) -> RunStep:
        tree, is_first = self.state.tree, not self.at
        if is_first:
            operations = [node.to_operation() for node in tree.walk()]
        else:
            operations = [
                *self._changes.operations,
                *(change for node in tree.walk() for change in node.take_changes()),
            ]
        return RunStep(
            kind="fork",
            name=self.source.run_id,
            detail=self._describe(),
            path=tree.names,
            at=now,
            spent=self.state.spent,
            pending=self._pending,
            start=self.state.start if self._has_own_start else None,
            operations=tuple(operations),
        )

    def _describe(self) -> str:
        options, parts = self._options, [f"after step {self.at}"]
        if options.model is not None:
            parts.append(f"model {options.model}")
        if options.input is not None:
            parts.append("another input")
        if options.responses:
            parts.append(f"an answer to {', '.join(options.responses)}")
        return ", ".join(parts)

    def _release(self, record: RunRecord, runs: RunStore, now: float) -> RunRecord:
        """Return the record of the fork that any worker may continue, unless the fork waits for somebody."""
        state, pending = self.state, self._pending
        tree = state.tree.to_saved()
        body = runs.encode(Snapshot(step=self.at + 1, start=state.start, spent=state.spent, tree=tree))
        if not pending:
            return replace(record, status=RunStatus.NOT_STARTED, body=body)
        header = replace(record.header, pending=pending)
        wakes_at = AT_ONCE if self._options.responses else header.find_wake_time(now)
        return replace(record, status=RunStatus.WAITING, header=header, wakes_at=wakes_at, body=body)


async def prepare_fork(run_id: str, options: ForkOptions, context: RunContext) -> Fork:
    """Return a fork of a run that has ended, waits or is running.

    Raises:
        ConfigurationError: when the context has no store that saves steps; when there is no such step or model; when
            another input comes too late.
        RunNotFoundError: when the store has no such run.
        ResponseError: when the run did not wait for such an answer after that step.
        StoredStateError: when what is stored cannot be read.
    """
    if not context.is_durable:
        raise ConfigurationError("Only a store has the steps of runs: pass a store, as in Platform(store=...).")
    if options.model is not None:
        replace(context, model=options.model).find_model()
    runs = RunStore(context.store)
    source = await runs.load(run_id)
    if source is None:
        raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
    at = await _find_place(source, options, runs) if options.at is None else options.at
    if not 0 <= at <= source.steps:
        raise ConfigurationError(f"The run {run_id} has the steps 1 to {source.steps}: there is no step {at}.")
    if at and options.input is not None:
        raise ConfigurationError(
            f"Another input is possible from the start only: fork the run {run_id} at=0, not {at}."
        )
    step = (await runs.load_steps(run_id, after=at - 1, until=at))[0] if at else None
    await _check_responses(source, at, step, options, runs)
    respondent = context.find(Respondent) or NOBODY
    check_roles(options.responses, () if step is None else step.pending, respondent)
    state = await _load_state(source, at, runs)
    return Fork(source, at, step, state if at else replace(state, spent=NOTHING_SPENT), options)


async def _load_state(source: RunRecord, at: int, runs: RunStore) -> RunState:
    """Return the state that the steps alone give, as the fork has no other: the body of a killed run may have more."""
    if not source.steps:
        return await runs.load_state(source)
    return await runs.load_state(replace(source, body=None), at=max(at, 1))  # the first step has the start


async def _find_place(source: RunRecord, options: ForkOptions, runs: RunStore) -> int:
    if options.input is not None:
        return 0
    if not options.responses:
        return source.steps
    waits = await _find_waits(source, runs)
    return next((at for at, ids in reversed(waits.items()) if options.responses.keys() <= ids), source.steps)


async def _check_responses(
    source: RunRecord, at: int, step: RunStep | None, options: ForkOptions, runs: RunStore
) -> None:
    request_ids = set() if step is None else {request.id for request in step.pending}
    if not (unknown := options.responses.keys() - request_ids):
        return
    waits = await _find_waits(source, runs)
    waited = "; for ".join(f"{', '.join(sorted(ids))} after step {number}" for number, ids in waits.items())
    raise ResponseError(
        f"The run {source.run_id} did not wait for {', '.join(sorted(unknown))} after step {at}; "
        f"it waited for {waited or 'nothing'}."
    )


async def _find_waits(source: RunRecord, runs: RunStore) -> dict[int, set[str]]:
    """Return the ids of the requests for which a run waited, by the numbers of the steps."""
    steps = enumerate(await runs.load_steps(source.run_id, until=source.steps), start=1)
    return {number: {request.id for request in step.pending} for number, step in steps if step.pending}


class _Changes:
    """Journal of the changes that make a fork differ."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def record_operation(self, operation: Operation) -> None:
        """Note a change."""
        self.operations.append(operation)

    async def save(self, checkpoint: Checkpoint, kind: str, name: str = "", detail: str = "") -> None:
        """Do nothing: a fork is saved as a whole."""

    async def show_pending(self, asked: Iterable[PendingRequest], answered: Collection[str]) -> None:
        """Do nothing: a fork that is not in the store asks nobody."""

    async def check_lease(self) -> None:
        """Do nothing: a fork that is not in the store has no lease."""
