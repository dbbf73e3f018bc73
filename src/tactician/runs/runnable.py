"""`Runnable`, the contract of everything that does work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypeVar

from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Message, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.runs.context.context import RunContext
from tactician.runs.outcomes.errors import StreamTimeoutError
from tactician.runs.outcomes.events import RunCompleted
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus

Input: TypeAlias = str | Message | Sequence[Message] | object
"""A string, a message, a conversation, or any object that pydantic can serialise."""


T_co = TypeVar("T_co", covariant=True, default=object)


@runtime_checkable
class Runnable(Protocol[T_co]):
    """Something with a name and a description that turns an input into a `RunResult`.

    `Runnable[City]` has the output type `City`; `Runnable` alone stands for any.
    """

    @property
    def name(self) -> str:
        """The name, unique among its neighbours."""
        ...

    @property
    def description(self) -> str:
        """Purpose of the Runnable, by which a person or a model can choose."""
        ...

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T_co]:
        """Do the work.

        Raises:
            RunError: when the work fails; the error carries the usage and the messages so far.
        """
        ...


def messages_of(input: Input) -> list[Message]:
    """Convert the input to messages; an object that is neither text nor message becomes JSON in a user message.

    Raises:
        TypeError: when it has no JSON form.
    """
    if isinstance(input, str):
        return [UserMessage(input)]
    if is_message(input):
        return [input]
    if is_conversation(input):
        return list(input)
    content = getattr(input, "content", None)
    return [UserMessage(content if isinstance(content, str) else _write(input))]


def _write(input: Input) -> str:
    try:
        return to_json(input).decode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        takes = "a run takes text, a message, a conversation, or an object with a JSON form"
        raise TypeError(f"{takes}, and this {type(input).__name__} has none: {error}") from error


def is_conversation(value: Input) -> TypeGuard[Sequence[Message]]:
    """Return whether the input is a sequence of messages."""
    return isinstance(value, list | tuple) and bool(value) and all(map(is_message, value))


def is_message(value: object) -> TypeGuard[Message]:
    """Return whether the input is a message."""
    return isinstance(value, SystemMessage | UserMessage | AssistantMessage | ToolResult)


async def stream_events(
    run: Callable[[RunContext], Awaitable[RunResult[object]]], context: RunContext, *, limit: float | None = None
) -> AsyncGenerator[Event]:
    """Yield the events of a run as they happen; the last is `RunCompleted`. Leaving early cancels the run.

    Args:
        run: the run.
        context: the context in which it runs.
        limit: seconds that the whole run may take; no limit, when `None`. The time of who reads the events does not
            count.

    Raises:
        StreamTimeoutError: when the run has taken longer, after the events that came before.
        RunError: the error of the run, after the events that came before it.
    """
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    heard = context.with_listeners(events.put_nowait, streaming=True)

    async def work() -> RunResult[object]:
        try:
            return await run(heard)
        finally:
            events.put_nowait(None)

    task = asyncio.create_task(work())
    watch = _StreamLimit(task, context, limit)
    try:
        while (event := await events.get()) is not None:
            yield event
        yield RunCompleted(run_id=context.run_id, path=context.path, result=await watch.get_result())
    finally:
        watch.stop()
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


class _StreamLimit:
    """Limit of the duration of a streamed run, which is cancelled when it takes longer."""

    def __init__(self, task: asyncio.Task[RunResult[object]], context: RunContext, seconds: float | None) -> None:
        self._task, self._context, self._seconds = task, context, seconds
        self._timer = None if seconds is None else context.clock.call_later(seconds, self._cancel)
        self._is_late = False

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _cancel(self) -> None:
        self._is_late = self._task.cancel()

    async def get_result(self) -> RunResult[object]:
        """Return the result of the run.

        Raises:
            StreamTimeoutError: when the run was cancelled because it took too long.
        """
        await asyncio.wait((self._task,))
        if self._is_late and self._task.cancelled():
            done = RunResult(None, RunStatus.FAILED, tally=self._context.tally, run_id=self._context.run_id)
            raise StreamTimeoutError(
                f"the stream has not ended within {format_count(self._seconds or 0, 'second')}, "
                "and its run was cancelled",
                done,
            )
        return self._task.result()


def need_members(owner: str, setting: str, members: object) -> None:
    """Check a list of Runnables.

    Args:
        owner: name of what has the members.
        setting: name of the setting.
        members: its value, whatever somebody wrote.

    Raises:
        DeclarationError: when it is no list, or has something else in it, with all such mistakes.
    """
    if isinstance(members, str | Mapping) or not isinstance(members, Iterable):
        raise DeclarationError(owner, [f"{setting} is {_show(members)}: write a list, as in [writer, critic]"])
    _need_runnables(owner, ((f"{setting}[{place}]", member) for place, member in enumerate(members)))


def need_named_members(owner: str, setting: str, members: object, *, example: str) -> None:
    """Check a mapping of descriptions to Runnables; see `need_members`.

    Args:
        owner: name of what has the members.
        setting: name of the setting.
        members: its value, whatever somebody wrote.
        example: a value that is right.

    Raises:
        DeclarationError: when it is no mapping of texts to Runnables, with all mistakes.
    """
    if not isinstance(members, Mapping):
        raise DeclarationError(owner, [f"{setting} is {_show(members)}: write a mapping, as in {setting}={example}"])
    _need_runnables(owner, ((f"{setting}[{label!r}]", member) for label, member in members.items()))


def need_member(owner: str, setting: str, member: object) -> None:
    """Check a single Runnable; see `need_members`.

    Raises:
        DeclarationError: when it is something else.
    """
    _need_runnables(owner, [(setting, member)])


def _need_runnables(owner: str, members: Iterable[tuple[str, object]]) -> None:
    problems = [
        f"{place} is {_show(member)}, which is not an agent: {_advise(member)}"
        for place, member in members
        if isinstance(member, type) or not isinstance(member, Runnable)
    ]
    if problems:
        raise DeclarationError(owner, problems)


def _advise(member: object) -> str:
    if isinstance(member, type):
        return f"this is the class; make an instance, as in {member.__name__}(...)"
    if callable(member):
        return f"wrap the function, as in runnable({getattr(member, '__name__', 'f')})"
    return "pass an Agent or another Runnable"


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a {type(value).__name__}"
