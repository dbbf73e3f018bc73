"""Sliding window: the newest messages."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.conversation.conversation import Conversation
from tactician.conversation.ledger import Ledger
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import MessageWindow, WindowStrategy
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm import Message
from tactician.runs import RunContext


@frozen
class SlidingWindow(WindowStrategy):
    """Window strategy that leaves out the oldest messages of a long conversation.

    The first user message, which states the task, and the newest message are always included, however long they are;
    a message with tool calls stays together with its results.

    Attributes:
        max_tokens: length of the window.
        preserve_system: always include the system messages at the beginning.
        counter: token counter; the counter of the run's model by default.

    Raises:
        DeclarationError: when `max_tokens` is not positive.
    """

    max_tokens: int
    preserve_system: bool = True
    counter: TokenCounter | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise DeclarationError("SlidingWindow", ["max_tokens must be at least 1"])

    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run."""
        return _SlidingView(Ledger(counter if self.counter is None else self.counter), self)


class _SlidingView:
    __slots__ = ("_ledger", "_strategy")

    def __init__(self, ledger: Ledger, strategy: SlidingWindow) -> None:
        self._ledger = ledger
        self._strategy = strategy

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the newest messages."""
        ledger, strategy = self._ledger, self._strategy
        ledger.update(conversation)
        if ledger.total <= strategy.max_tokens:
            return conversation.messages
        return select_newest(conversation, ledger, strategy.max_tokens, preserve_system=strategy.preserve_system)


def select_newest(
    conversation: Conversation,
    ledger: Ledger,
    max_tokens: int,
    *,
    preserve_system: bool = True,
    note: Message | None = None,
) -> tuple[Message, ...]:
    """Return the system messages, the first user message, a note, and the newest units that fit."""
    messages, asked = conversation.messages, ledger.asked
    head = ledger.head if preserve_system else 0
    room = max_tokens - (ledger.before[head] if head < len(ledger.before) else ledger.total)
    unit = ledger.find_newest_within(room)
    if asked is not None and unit > asked:
        unit = max(ledger.find_newest_within(room - ledger.count_unit(asked)), asked + 1)
    unit = max(min(unit, len(ledger.starts) - 1), head)
    begin = ledger.starts[unit] if unit < len(ledger.starts) else len(messages)
    first = () if asked is None or asked >= unit else (messages[ledger.starts[asked]],)
    notes = () if note is None else (note,)
    return (*messages[:head], *first, *notes, *messages[begin:])
