"""Compaction of old tool results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tactician.conversation.conversation import Conversation
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import MessageWindow, WindowStrategy
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, Message, ToolResult
from tactician.runs import RunContext

COMPACTED = "[compacted]"


@frozen
class CompactToolResults(WindowStrategy):
    """Window strategy that replaces old tool results with `[compacted]`.

    The calls and their arguments stay visible.

    Attributes:
        after: first turn of the run in which results are compacted, from 1. A resumed run starts at 1 again.
        keep_last: number of the model's last messages whose results stay complete.

    Raises:
        DeclarationError: when a number is not possible.
    """

    after: int
    keep_last: int = 1

    def __post_init__(self) -> None:
        checks = ((self.after >= 0, "after cannot be negative"), (self.keep_last > 0, "keep_last must be at least 1"))
        if problems := [problem for holds, problem in checks if not holds]:
            raise DeclarationError("CompactToolResults", problems)

    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run."""
        return _CompactView(self)


class _CompactView:
    """Copy of a conversation in which old results are compacted, kept up to date."""

    __slots__ = ("_answers", "_done", "_revision", "_shown", "_source", "_strategy", "_turn")

    def __init__(self, strategy: CompactToolResults) -> None:
        self._strategy = strategy
        self._source: Conversation | None = None
        self._shown = Conversation()
        self._answers: list[int] = []
        self._turn = self._done = self._revision = 0

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the messages with old results compacted."""
        self._turn += 1
        if self._turn < self._strategy.after:
            return conversation.messages
        self._follow(conversation)
        if len(self._answers) >= self._strategy.keep_last:
            self._compact(self._answers[-self._strategy.keep_last])
        return self._shown.messages

    def _follow(self, conversation: Conversation) -> None:
        """Add new messages; start again when other messages have changed."""
        if conversation is not self._source or conversation.revision != self._revision:
            self._source, self._revision = conversation, conversation.revision
            self._shown.rewind(0)
            self._answers.clear()
            self._done = 0
        for place in range(len(self._shown), len(conversation)):
            message = conversation.messages[place]
            if isinstance(message, AssistantMessage):
                self._answers.append(place)
            self._shown.append(message)

    def _compact(self, end: int) -> None:
        """Compact the results before a position."""
        if (begin := self._done) < end:
            self._done = end
            rest = [_compact_result(m) if n < end else m for n, m in enumerate(self._shown.messages[begin:], begin)]
            self._shown.rewind(begin)
            self._shown.extend(rest)


def _compact_result(message: Message) -> Message:
    return replace(message, content=COMPACTED, images=()) if isinstance(message, ToolResult) else message
