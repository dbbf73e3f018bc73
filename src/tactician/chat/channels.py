"""Channels to the users of chats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeAlias

from tactician.frozen import frozen
from tactician.llm import AssistantMessage
from tactician.process import MessageSent, ProgressReported
from tactician.runs import RunContext
from tactician.suggestions import suggest_options


@frozen
class ChatProgress:
    """Text about what the assistant is doing. It is not part of the conversation."""

    text: str


Shown: TypeAlias = AssistantMessage | ChatProgress


@suggest_options
class QueueChannel:
    """Channel that keeps what is shown until somebody takes it, as a web socket does when it is ready.

    When nobody takes anything for too long, the oldest is dropped: the conversation still has all messages.

    Args:
        limit: number of messages and progress texts that are kept.
    """

    def __init__(self, limit: int = 1000) -> None:
        self._shown: asyncio.Queue[Shown | None] = asyncio.Queue(limit)

    def show_message(self, message: AssistantMessage) -> None:
        """Keep a message of the assistant."""
        self._put(message)

    def show_progress(self, text: str) -> None:
        """Keep a text about what the assistant is doing."""
        self._put(ChatProgress(text))

    def close(self) -> None:
        """End the iteration over the shown messages."""
        self._put(None)

    async def __aiter__(self) -> AsyncIterator[Shown]:
        while (shown := await self._shown.get()) is not None:
            yield shown

    def _put(self, shown: Shown | None) -> None:
        if self._shown.full():
            self._shown.get_nowait()
        self._shown.put_nowait(shown)


class EventChannel:
    """Channel to those who listen to a run.

    Args:
        context: context of the run.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def show_message(self, message: AssistantMessage) -> None:
        """Emit a message of the assistant."""
        self._context.emit(MessageSent, message=message)

    def show_progress(self, text: str) -> None:
        """Emit what the assistant is doing."""
        self._context.emit(ProgressReported, text=text)
