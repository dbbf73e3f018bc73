"""Shows the newest messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tactician.conversation.conversation import Conversation
from tactician.conversation.ledger import Ledger
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import Window, WindowStrategy
from tactician.errors import DeclarationError
from tactician.llm import Message
from tactician.runs import RunContext


@dataclass(frozen=True, slots=True)
class SlidingWindow(WindowStrategy):
    """Leaves out the oldest messages of a conversation that is too long.

    It always shows the first message of the user, which says what is to be done, and the newest message, however long
    they are; a message that calls tools goes together with all its results.

    Attributes:
        max_tokens: how long what is shown may be.
        preserve_system: whether the system messages at the beginning are always shown.
        counter: counts tokens; that of the run's model by default.

    Raises:
        DeclarationError: when `max_tokens` is not positive.
    """

    max_tokens: int
    preserve_system: bool = True
    counter: TokenCounter | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise DeclarationError("SlidingWindow", ["max_tokens has to be at least 1"])

    def start(self, run: RunContext, counter: TokenCounter) -> Window:
        """The window of a run."""
        return _SlidingView(Ledger(counter if self.counter is None else self.counter), self)


class _SlidingView:
    __slots__ = ("_ledger", "_strategy")

    def __init__(self, ledger: Ledger, strategy: SlidingWindow) -> None:
        self._ledger = ledger
        self._strategy = strategy

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """The newest messages."""
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
    """The system messages, the first message of the user, a note and the newest units that fit besides."""
    messages, asked = conversation.messages, ledger.asked
    head = ledger.head if preserve_system else 0
    room = max_tokens - (ledger.before[head] if head < len(ledger.before) else ledger.total)
    unit = ledger.find_newest_within(room)
    if asked is not None and unit > asked:
        unit = max(ledger.find_newest_within(room - ledger.count_unit(asked)), asked + 1)
    unit = max(min(unit, len(ledger.starts) - 1), head)
    begin = ledger.starts[unit] if unit < len(ledger.starts) else len(messages)
    first = () if asked is None or asked >= unit else (messages[ledger.starts[asked]],)
    said = () if note is None else (note,)
    return (*messages[:head], *first, *said, *messages[begin:])
