"""Events around what takes a while: before it begins, and when it has ended, however it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from tactician.llm import Usage
from tactician.runs.context.context import RunContext
from tactician.runs.outcomes.errors import RunError, get_end_status
from tactician.runs.outcomes.events import (
    ModelCalled,
    ModelReturned,
    RetrievalEnded,
    RetrievalStarted,
    RunEnded,
    RunStarted,
)
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import find_suspension
from tactician.runs.user import ConversationId
from tactician.text import describe_error, snake_case
from tactician.trace import Recorder

T = TypeVar("T")


class Named(Protocol):
    """Anything with a name, such as a `Runnable`."""

    @property
    def name(self) -> str:
        """The name."""
        ...


def agent_id(agent: Named) -> str:
    """Return the id of an agent: its own, else its name in snake case."""
    given_id = getattr(agent, "id", None)
    return given_id if isinstance(given_id, str) and given_id else snake_case(agent.name)


class WithUsage(Protocol):
    """Anything that says what it used."""

    @property
    def usage(self) -> Usage:
        """Tokens of the call."""
        ...


AnsweredT = TypeVar("AnsweredT", bound=WithUsage)
SequenceT = TypeVar("SequenceT", bound=Sequence[object])


async def report_run(
    running: Awaitable[RunResult[T]],
    context: RunContext,
    kind: str,
    runnable: Named | None,
    *,
    is_resumed: bool = False,
) -> RunResult[T]:
    """Await a run, with an event before and after it. Without listeners, callers await the run itself.

    Args:
        running: the run.
        context: its context.
        kind: kind of Runnable.
        runnable: the Runnable, if the run is of a single one.
        is_resumed: true when it continues after a pause.
    """
    with context.enter():  # those who listen learn from the context whose run it is
        place = "" if context.checkpoint is None else "/".join(context.checkpoint.keys)
        conversation = context.find(ConversationId)
        context.emit(
            RunStarted,
            kind=kind,
            is_resumed=is_resumed,
            trace_parent=context.trace_parent,
            place=place,
            conversation_id=None if conversation is None else conversation.id,
            agent_id="" if runnable is None else agent_id(runnable),
            description=getattr(runnable, "own_description", ""),
        )
    now = context.clock.monotonic
    began = now()
    try:
        result = await running
    except BaseException as error:
        seconds, failure = now() - began, None if find_suspension(error) else describe_error(error)
        status, tally = _judge(error), context.tally
        with context.enter():
            context.emit(RunEnded, status=status, kind=kind, seconds=seconds, tally=tally, error=failure)
        if isinstance(error, RunError):
            _add_trace(error.result, context)
        raise
    seconds = now() - began
    with context.enter():
        context.emit(RunEnded, status=result.status, kind=kind, seconds=seconds, tally=context.tally)
    _add_trace(result, context)
    return result


def _add_trace(result: RunResult[object], context: RunContext) -> None:
    if (recorder := context.find(Recorder)) is not None:
        result.recorded = recorder.read_trace(context.run_id)


async def report_model_call(
    calling: Awaitable[AnsweredT], context: RunContext, operation: str, model: str
) -> AnsweredT:
    """Await a call of a model outside of turns, with an event before and after it.

    Args:
        calling: the call.
        context: context of the run that it is part of.
        operation: what the model does, such as `"embeddings"`.
        model: name of the model.
    """
    if not context.is_observed:
        return await calling
    context.emit(ModelCalled, operation=operation, model=model)
    now = context.clock.monotonic
    began = now()
    try:
        answer = await calling
    except BaseException as error:
        seconds, failure = now() - began, describe_error(error)
        context.emit(ModelReturned, operation=operation, model=model, seconds=seconds, error=failure)
        raise
    used = answer.usage.attribute_to(model)
    context.emit(ModelReturned, operation=operation, model=model, seconds=now() - began, usage=used)
    return answer


async def report_retrieval(
    searching: Awaitable[SequenceT],
    source: str,
    query: str,
    *,
    limit: int | None = None,
    context: RunContext | None = None,
    name: Callable[[SequenceT], Iterable[tuple[str, str]]] | None = None,
) -> SequenceT:
    """Await a search for documents, with an event before and after it, so that traces show it.

    Args:
        searching: the search.
        source: name of what is searched.
        query: text that is searched for.
        limit: largest number of documents.
        context: context of the run that it is part of; the context of the code that runs by default.
        name: returns the id and the address of each document.
    """
    run = context or RunContext.current()
    if not run.is_observed:
        return await searching
    run.emit(RetrievalStarted, source=source, query=query, limit=limit)
    now = run.clock.monotonic
    began = now()
    try:
        documents = await searching
    except BaseException as error:
        seconds, failure = now() - began, describe_error(error)
        run.emit(RetrievalEnded, source=source, documents=0, seconds=seconds, error=failure)
        raise
    found = () if name is None else tuple(name(documents))
    run.emit(RetrievalEnded, source=source, documents=len(documents), seconds=now() - began, found=found)
    return documents


def _judge(error: BaseException) -> RunStatus:
    """Return the status of a run that raised."""
    if (suspended := find_suspension(error)) is not None:
        return RunStatus.WAITING if suspended.pending else RunStatus.PAUSED
    return get_end_status(error) if isinstance(error, Exception) else RunStatus.KILLED
