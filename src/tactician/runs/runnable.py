"""`Runnable`, the contract of everything that does work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from pydantic_core import to_json

from tactician.events import Event
from tactician.llm import AssistantMessage, Message, SystemMessage, ToolResult, UserMessage
from tactician.runs.context import RunContext
from tactician.runs.events import RunCompleted
from tactician.runs.result import RunResult

Input: TypeAlias = str | Message | Sequence[Message] | object
"""A string, a message, a conversation, or any object that pydantic can serialise."""


@runtime_checkable
class Runnable(Protocol):
    """Something with a name and a description that turns an input into a `RunResult`."""

    @property
    def name(self) -> str:
        """The name, unique among its neighbours."""
        ...

    @property
    def description(self) -> str:
        """Purpose of the Runnable, by which a person or a model can choose."""
        ...

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[object]:
        """Do the work.

        Raises:
            RunError: when the work fails; the error carries the usage and the messages so far.
        """
        ...


def messages_of(input: Input) -> list[Message]:
    """Convert the input to messages; an object that is neither text nor message becomes JSON in a user message."""
    if isinstance(input, str):
        return [UserMessage(input)]
    if is_message(input):
        return [input]
    if is_conversation(input):
        return list(input)
    content = getattr(input, "content", None)
    return [UserMessage(content if isinstance(content, str) else to_json(input).decode())]


def is_conversation(value: Input) -> TypeGuard[Sequence[Message]]:
    """Return whether the input is a sequence of messages."""
    return isinstance(value, list | tuple) and bool(value) and all(map(is_message, value))


def is_message(value: object) -> TypeGuard[Message]:
    """Return whether the input is a message."""
    return isinstance(value, SystemMessage | UserMessage | AssistantMessage | ToolResult)


async def stream_events(
    run: Callable[[RunContext], Awaitable[RunResult[object]]], context: RunContext
) -> AsyncGenerator[Event]:
    """Yield the events of a run as they happen; the last is `RunCompleted`. Leaving early cancels the run.

    Raises:
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
    try:
        while (event := await events.get()) is not None:
            yield event
        yield RunCompleted(run_id=context.run_id, path=context.path, result=await task)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
