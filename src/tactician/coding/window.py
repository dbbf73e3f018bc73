"""Window of long conversations about code: old results shrink to what they changed and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tactician.conversation import Conversation, MessageWindow, WindowStrategy
from tactician.conversation.tokens import TokenCounter
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, Message, ToolResult
from tactician.runs import RunContext

_KEPT_LINES: Final = {"run_tests": 12, "shell": 3, "build": 3, "git": 2}
"""Lines of old results that stay, of tools whose results tell what failed."""
_ENDINGS: Final = {"shell": 2, "build": 2}
_SHORT: Final = 300


@frozen
class CodingWindow(WindowStrategy):
    """Window strategy that shortens old results of tools once a conversation about code is long.

    Results of changes stay, and the beginnings of results of tests, so that the model knows what it has changed and
    what failed. Files and search results can be looked up again: of these only the first line stays.

    Attributes:
        max_tokens: length from which on results are shortened.
        keep_last: number of the last messages of the model whose results stay as they are.

    Raises:
        DeclarationError: when a number is not positive.
    """

    max_tokens: int = 60_000
    keep_last: int = 8

    def __post_init__(self) -> None:
        checks = (("max_tokens", self.max_tokens), ("keep_last", self.keep_last))
        if problems := [f"{name} must be at least 1" for name, number in checks if number < 1]:
            raise DeclarationError("CodingWindow", problems)

    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run."""
        return _CodingView(self, counter)


class _CodingView:
    """Messages with shortened results. What was shortened stays so, for the caches of providers."""

    __slots__ = ("_counted", "_counter", "_shortened", "_strategy", "_tokens")

    def __init__(self, strategy: CodingWindow, counter: TokenCounter) -> None:
        self._strategy = strategy
        self._counter = counter
        self._counted = self._tokens = self._shortened = 0

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the messages, with old results shortened."""
        messages = conversation.messages
        if len(messages) < self._counted:  # the conversation was taken back
            self._counted = self._tokens = self._shortened = 0
        self._tokens += sum(map(self._counter.count, messages[self._counted :]))
        self._counted = len(messages)
        if self._tokens > self._strategy.max_tokens:
            answers = [place for place, message in enumerate(messages) if isinstance(message, AssistantMessage)]
            end = answers[-self._strategy.keep_last] if len(answers) > self._strategy.keep_last else 0
            for message in messages[self._shortened : end]:
                self._tokens -= self._counter.count(message) - self._counter.count(shorten_result(message))
            self._shortened = max(self._shortened, end)
        if not self._shortened:
            return messages
        return [*map(shorten_result, messages[: self._shortened]), *messages[self._shortened :]]


def shorten_result(message: Message) -> Message:
    """Return a message; the result of a tool without what can be looked up again."""
    if not isinstance(message, ToolResult) or len(message.content) <= _SHORT:
        return message
    lines = message.content.split("\n")
    first, last = _KEPT_LINES.get(message.name, 1), _ENDINGS.get(message.name, 0)
    if len(lines) <= first + last:
        return message
    kept = [*lines[:first], "[... shortened: call the tool again to see all of it]", *(lines[-last:] if last else ())]
    return replace(message, content="\n".join(line[:_SHORT] for line in kept), images=())
