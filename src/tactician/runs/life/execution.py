"""Start, suspension and resumption of runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from tactician.cancellation import run_to_completion
from tactician.errors import (
    ConfigurationError,
    LeaseLostError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
    StoreError,
)
from tactician.frozen import frozen
from tactician.runs.context.context import MISSED_DEADLINE, RunContext, RunPlace, reset_current, set_current
from tactician.runs.life.creation import OWNER, create_durable_run
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.endings import complete_run, create_resting_result, fail_run, suspend_run, terminate_run
from tactician.runs.life.holding import LeaseTime, check_first, check_unanswered, claim_to_answer
from tactician.runs.life.inputs import NO_TYPES, InputTypes, restore_input
from tactician.runs.life.kept_artifacts import attach_artifacts
from tactician.runs.life.restoration import RestoredRun, restore_claimed
from tactician.runs.outcomes.budget import Budget
from tactician.runs.outcomes.errors import RunError, RunKilledError
from tactician.runs.outcomes.events import RequestAnswered
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest, Response, find_suspension
from tactician.runs.progress.record import REQUEST_KIND, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.reporting import report_run
from tactician.runs.requests.answers import describe_answers, mark_answered, record_responses
from tactician.runs.requests.respondents import NOBODY, Respondent, check_roles, create_answered_error, find_answered
from tactician.runs.runnable import Input, Runnable
from tactician.stores.document import Lease

T = TypeVar("T")
Work: TypeAlias = Callable[[Input, RunContext], Awaitable[RunResult[T]]]


@frozen
class _Answers:
    """Answers with which a run continues.

    Attributes:
        responses: the answers, by the ids of their requests.
        respondent: who answers.
        pending: what the run waits for again if the work fails; it fails for good, if there is nothing.
    """

    responses: Mapping[str, Response] = field(default_factory=dict)
    respondent: Respondent = NOBODY
    pending: tuple[PendingRequest, ...] = ()


_NO_ANSWERS: Final = _Answers()


def start_run(
    name: str,
    input: Input,
    context: RunContext | None,
    budget: Budget | None,
    work: Work[T],
    *,
    kind: str = "run",
    prepare: Callable[[RunContext], None] | None = None,
    input_types: InputTypes = NO_TYPES,
    place: RunPlace | None = None,
    runnable: Runnable | None = None,
) -> Awaitable[RunResult[T]]:
    """Do the work as a run inside the context, when it is awaited.

    A run inside no other has a record: with a durable store from its start on, and saved after each step; else once it
    has to wait.

    Args:
        name: name of the run.
        input: its input.
        context: context around it; the context of the code that runs, when `None`.
        budget: budget of its own.
        work: the work, which takes the input and the context of the run.
        kind: kind of Runnable.
        prepare: called with the context of the run before it has a record, to put into its checkpoint what the input
            alone does not say.
        input_types: types that the Runnable declares for its input.
        place: the place in the run around it in which it is.
        runnable: the Runnable that listeners are told of.

    Raises:
        StoredStateError: when the run is saved, and its input would not be read back equal.
    """
    if context is not None and not isinstance(context, RunContext):
        raise ConfigurationError(f"context is {context!r}; write context=platform.context()")
    # A context that the caller passes wins over the context of the code that runs.
    outer = context or RunContext.around()
    is_durable = outer.checkpoint is None and outer.services.is_durable
    child = outer.child(name, (budget or Budget()) if is_durable else budget, place=place)
    # Only for a new run: a run that continues has what `prepare` put into its checkpoint, and the work may have
    # changed it.
    if prepare is not None and not (child.checkpoint and child.checkpoint.data):
        prepare(child)
    if outer.checkpoint is not None:
        running = _run_inside(input, child, work)
    else:
        running = (_run_durably if is_durable else _run_in_memory)(input, child, work, kind, input_types)
    return report_run(running, child, kind, runnable) if child.is_observed else running


async def resume_run(
    name: str,
    run_id: str,
    responses: Mapping[str, Response],
    context: RunContext | None,
    work: Work[T],
    *,
    is_request: bool = False,
    input_types: InputTypes = NO_TYPES,
    runnable: Runnable | None = None,
) -> RunResult[T]:
    """Resume a run that waits, with answers to some or all of its requests; or a paused run.

    If the work fails, the run waits again, with the answers so far.

    Raises:
        RunNotFoundError: when no run of this name waits with the id.
        RunConflictError: when somebody else has resumed it; an `AlreadyAnsweredError` when a request has an answer.
        ResponseError: when a request requires a role that the `Respondent` of the context does not have.
        StoredStateError: when its record cannot be read, or an answer would not be read back equal.
    """
    outer = context or RunContext.current()
    waiting = await _find_waiting(name, run_id, outer, responses, is_request=is_request)
    # Twice, here and after the claim: here it is cheap and gives the better error, there it is certain.
    await _check_open(responses, waiting, outer)
    respondent = outer.find(Respondent) or NOBODY
    # Before the claim: an answer without its role must not take the lease from a worker.
    check_roles(responses, waiting.header.pending, respondent)
    outer = outer.inside({Respondent: NOBODY})  # what the run does is not done in the role of who answered
    seconds = outer.services.find(LeaseTime).seconds
    claim = partial(_claim, name, run_id, seconds, RunStore(outer.store))
    record, lease = await claim_to_answer(claim, run_id, responses.keys(), outer.services)
    restored = await restore_claimed(record, lease, outer, seconds, responses)
    try:
        await _check_open(responses, record, outer)  # somebody else may have answered before the claim
    except BaseException:
        await run_to_completion(outer.store.release(lease))
        raise
    respondent.report_acceptance()
    answers = _Answers(responses, respondent, mark_answered(record.header.pending, responses))
    return await _continue(restored, work, input_types, runnable, answers)


async def continue_run(
    record: RunRecord,
    lease: Lease,
    context: RunContext,
    work: Work[T],
    seconds: float | None = None,
    *,
    input_types: InputTypes = NO_TYPES,
    runnable: Runnable | None = None,
) -> RunResult[T]:
    """Continue a run that was claimed, as far as it can go. The lease is released at the end.

    Raises:
        StoredStateError: when its state cannot be read.
        LeaseLostError: when another worker has claimed it meanwhile.
        RunKilledError: when it was killed meanwhile.
    """
    return await _continue(await restore_claimed(record, lease, context, seconds), work, input_types, runnable)


async def end_overdue(record: RunRecord, lease: Lease, context: RunContext) -> None:
    """End a claimed run whose deadline has passed by the clock of its engine.

    Raises:
        StoredStateError: when its state cannot be read.
    """
    restored = await restore_claimed(record, lease, context)
    async with restored.run.hold():
        await terminate_run(restored.run, restored.context, MISSED_DEADLINE)


async def keep_responses(
    record: RunRecord, lease: Lease, context: RunContext, responses: Mapping[str, Response]
) -> None:
    """Keep answers to requests of a run that was claimed. The lease is released at the end.

    The run takes them when it continues; any worker may continue it.

    Raises:
        ResponseError: when the run does not wait for that, or the `Respondent` of the context lacks a required role;
            an `AlreadyAnsweredError` when a request has an answer.
        StoredStateError: when its state cannot be read, or an answer would not be read back equal.
    """
    restored = await restore_claimed(record, lease, context)
    async with restored.run.hold():
        pending = record.header.pending
        check_first(record, responses)
        request_ids = [request.id for request in pending]
        if unknown := responses.keys() - set(request_ids):
            if answered := find_answered(restored.tree, sorted(unknown)):
                raise create_answered_error(record.run_id, answered)
            names = ", ".join(map(repr, sorted(unknown)))
            raise ResponseError(f"{record.name} does not wait for {names}; it waits for {request_ids}")
        respondent = context.find(Respondent) or NOBODY
        check_roles(responses, pending, respondent)
        # Answers are saved as a step first, then the run is due: a worker that wakes up finds them.
        record_responses(restored.tree, responses, pending, respondent)
        _report_answers(restored.context, responses, respondent)
        await restored.run.save_all("response", detail=describe_answers(responses, respondent))
        marked = mark_answered(pending, responses)
        await restored.run.save_status(record.status, pending=marked, is_due=True)
    respondent.report_acceptance()


async def load_pending(name: str, run_id: str, context: RunContext | None) -> tuple[PendingRequest, ...]:
    """Return what a run waits for.

    Raises:
        RunNotFoundError: when no run of this name waits with the id.
        StoredStateError: when its record cannot be read.
    """
    return (await _find_waiting(name, run_id, context or RunContext.current())).header.pending


async def _continue(
    restored: RestoredRun,
    work: Work[T],
    input_types: InputTypes,
    runnable: Runnable | None,
    answers: _Answers = _NO_ANSWERS,
) -> RunResult[T]:
    """Continue a run as far as it can go. A run that waits and has no answer stays as it is.

    A run whose deadline has passed ends, whatever it waited for.

    Args:
        restored: the run.
        work: its work.
        input_types: types that the Runnable declares for its input.
        runnable: the Runnable that listeners are told of.
        answers: answers that arrive now.
    """
    run, context = restored.run, restored.context
    async with run.hold():
        if (missed := context.find_missed_deadline()) is not None:
            raise await terminate_run(run, context, missed)
        if restored.has_to_wait:
            return create_resting_result(context, RunStatus.WAITING, run.record.header.pending)
        continuation = _continue_work(restored, work, input_types, answers)
        if not context.is_observed:
            return await continuation
        is_resumed = run.record.status is not RunStatus.NOT_STARTED
        return await report_run(continuation, context, run.record.kind, runnable, is_resumed=is_resumed)


async def _continue_work(
    restored: RestoredRun,
    work: Work[T],
    input_types: InputTypes,
    answers: _Answers,
) -> RunResult[T]:
    run = restored.run
    input_ = restore_input(restored.start["input"], input_types)
    responses, respondent = answers.responses, answers.respondent
    record_responses(restored.tree, responses, run.record.header.pending, respondent)
    await run.begin(describe_answers(responses, respondent))
    _report_answers(restored.context, responses, respondent)
    await run.save_status(RunStatus.RUNNING, pending=restored.open_requests)
    return await _work(run, input_, restored.context, work, answers.pending)


def _report_answers(context: RunContext, request_ids: Iterable[str], respondent: Respondent) -> None:
    for request_id in request_ids:
        context.emit(RequestAnswered, request_id=request_id, by=respondent.name)


async def _run_inside(input: Input, child: RunContext, work: Work[T]) -> RunResult[T]:
    try:
        entered = set_current(child)
        try:
            return attach_artifacts(await work(input, child), child)
        finally:
            reset_current(entered)
    except BaseException as error:
        if (suspended := find_suspension(error)) is None:
            _add_usage(error, child)
            raise
        if suspended is error:
            raise
        raise suspended from error


def _add_usage(error: BaseException, context: RunContext) -> None:
    """Let the error of a run carry what the whole run has used, also when the error comes from a run inside it."""
    if isinstance(error, RunError):
        error.result.tally = context.tally


async def _run_durably(
    input: Input, child: RunContext, work: Work[T], kind: str, input_types: InputTypes
) -> RunResult[T]:
    run = create_durable_run(child.path[-1], input, child, kind=kind, input_types=input_types)
    async with run.hold():
        await run.begin()
        return await _work(run, input, child, work, ())


async def _run_in_memory(
    input: Input, child: RunContext, work: Work[T], kind: str, input_types: InputTypes
) -> RunResult[T]:
    try:
        entered = set_current(child)  # a context manager takes three calls more
        try:
            result = attach_artifacts(await work(input, child), child)
        finally:
            reset_current(entered)
        if child.checkpoint is not None:
            child.checkpoint.release()
        return result
    except BaseException as error:
        if (suspended := find_suspension(error)) is None:
            _add_usage(error, child)
            raise
        run = create_durable_run(child.path[-1], input, child, kind=kind, input_types=input_types)
        return attach_artifacts(await suspend_run(run, child, suspended), child)


async def _work(
    run: DurableRun, input: Input, child: RunContext, work: Work[T], pending: tuple[PendingRequest, ...]
) -> RunResult[T]:
    """Do the work of a run whose lease is held, and save the outcome.

    If the work fails, the run waits for the `pending` requests again.
    """
    try:
        with child.enter():
            result = await work(input, child)
    except (LeaseLostError, StoreError, RunKilledError):  # it continues elsewhere, or nowhere
        raise
    except BaseException as error:
        if (suspended := find_suspension(error)) is not None:
            return attach_artifacts(await suspend_run(run, child, suspended), child)
        _add_usage(error, child)
        if isinstance(error, Exception):  # else it is interrupted, and any worker may continue it
            await fail_run(run, error, () if child.find_missed_deadline() else pending)
        raise
    await complete_run(run, child, result)
    return attach_artifacts(result, child)


async def _find_waiting(
    name: str,
    run_id: str,
    context: RunContext,
    responses: Mapping[str, Response] = MappingProxyType({}),
    *,
    is_request: bool = False,
) -> RunRecord:
    record = await RunStore(context.store).load(run_id, with_body=False)
    if record is None:
        stands = "it is not in the store"
    elif record.name != name or not record.can_resume:
        await check_unanswered(run_id, responses.keys(), context.services)
        stands = f"it is a run of {record.name!r}, and {record.status}"
    elif is_request is not (record.kind == REQUEST_KIND):
        what = "no answer" if is_request else "the answer"
        stands = f"it is {what} to a request of a service: continue it by platform.respond"
    else:
        return record
    raise RunNotFoundError(f"{name}: no run waits with the id {run_id!r}: {stands}")


async def _claim(name: str, run_id: str, seconds: float, runs: RunStore) -> tuple[RunRecord, Lease]:
    if (claimed := await runs.claim(OWNER, seconds, run_id=run_id)) is None:
        raise RunConflictError(
            f"The run {run_id} of {name} is being continued by another worker: respond again once it waits."
        )
    return claimed


async def _check_open(responses: Mapping[str, Response], record: RunRecord, context: RunContext) -> None:
    """Check that a run waits for answers to these requests, and has not taken any."""
    check_first(record, responses)
    request_ids = [request.id for request in record.header.pending]
    if unknown := sorted(responses.keys() - set(request_ids)):
        await check_unanswered(record.run_id, unknown, context.services)
        raise RunNotFoundError(f"The run {record.run_id} does not wait for {unknown}; it waits for {request_ids}")
