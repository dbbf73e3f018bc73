"""Summarization of the oldest messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from tactician.conversation.conversation import Conversation
from tactician.conversation.ledger import Ledger
from tactician.conversation.sliding_window import select_newest
from tactician.conversation.summarizer import DEFAULT_PROMPT, Summarizer
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import MessageWindow, WindowStrategy
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.llm import Message, UserMessage
from tactician.runs import RunContext

_HEADING = "What was said and done before this, summed up:\n"
_NOTE = UserMessage("(The earlier conversation is left out: it was too long.)")
_TOKENS_PER_WORD = 2
_MIN_WORDS = 20
_PORTION = 2  # so many times `max_tokens` are summed up at once, should a conversation begin so long


@frozen
class Summarization(WindowStrategy):
    """Window strategy that lets a model summarize the oldest messages of a long conversation.

    The window has the system messages at the beginning, the first user message, the summary as a user message, and
    the messages after it. The summary grows: the model gets the old summary and the messages that no longer fit, at
    most once a turn. Where the newest messages leave no room for a summary, `SlidingWindow` takes over; also when the
    model fails, with a note that messages are missing.

    Attributes:
        max_tokens: length of the window.
        keep_recent: number of newest messages that are never summarized; calls stay with their results.
        model: the name of the summarizing model, at the responder or the instances of the agent's model; the agent's
            model, when `None`.
        prompt: the instructions for that model.
        counter: token counter; the counter of the run's model by default.

    Raises:
        DeclarationError: when a number is not positive.
    """

    max_tokens: int
    keep_recent: int = 5
    model: str | None = None
    prompt: str | None = None
    counter: TokenCounter | None = None

    def __post_init__(self) -> None:
        checks = (("max_tokens", self.max_tokens), ("keep_recent", self.keep_recent))
        if problems := [f"{name} must be at least 1" for name, number in checks if number < 1]:
            raise DeclarationError("Summarization", problems)

    def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
        """Return the window of a run."""
        summarizer = Summarizer(run, self.model, self.prompt or DEFAULT_PROMPT)
        return _SummaryView(self, summarizer, counter if self.counter is None else self.counter)


class _SummaryView:
    """Summary, with the position up to which it covers the conversation."""

    __slots__ = ("_counter", "_ledger", "_strategy", "_summarizer", "_summary", "_until")

    def __init__(self, strategy: Summarization, summarizer: Summarizer, counter: TokenCounter) -> None:
        self._strategy = strategy
        self._summarizer = summarizer
        self._counter = counter
        self._ledger = Ledger(counter)
        self._summary = ""
        self._until = 0

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """Return the messages, with a summary of the oldest."""
        self._update(conversation)
        if (shown := self._build_view(conversation)) is not None:
            return shown
        has_failed = not await self._sum_up(conversation)
        self._update(conversation)
        if not has_failed and (shown := self._build_view(conversation)) is not None:
            return shown
        limit = self._strategy.max_tokens
        if not has_failed:
            return select_newest(conversation, self._ledger, limit)
        return select_newest(conversation, self._ledger, limit - self._counter.count(_NOTE), note=_NOTE)

    def _update(self, conversation: Conversation) -> None:
        """Count new messages. Discard the summary when messages that it covers have changed."""
        changed = self._ledger.update(conversation)
        if changed is not None and changed < self._until:
            self._summary, self._until = "", 0

    def _build_view(self, conversation: Conversation) -> Sequence[Message] | None:
        """Return the messages with the summary so far; `None` when they are too long."""
        ledger, limit, messages = self._ledger, self._strategy.max_tokens, conversation.messages
        if not self._summary:
            return messages if ledger.total <= limit else None
        summary = UserMessage(_HEADING + self._summary)
        rest = ledger.count_from(ledger.find_unit(self._until))
        if self._fixed + self._counter.count(summary) + rest > limit:
            return None
        asked = self._asked_at
        first = () if asked is None or asked >= self._until else (messages[asked],)
        return (*messages[: ledger.head], *first, summary, *messages[self._until :])

    @property
    def _asked_at(self) -> int | None:
        """The position of the first user message."""
        ledger = self._ledger
        return None if ledger.asked is None else ledger.starts[ledger.asked]

    @property
    def _fixed(self) -> int:
        """The tokens of the system messages at the beginning and the first user message."""
        ledger = self._ledger
        asked = 0 if ledger.asked is None else ledger.count_unit(ledger.asked)
        return ledger.total - ledger.count_from(ledger.head) + asked

    async def _sum_up(self, conversation: Conversation) -> bool:
        """Summarize the excess if there is room for a summary; return `False` when the model fails."""
        begin, end, recent = self._select_portion(len(conversation))
        room = self._strategy.max_tokens - self._fixed - self._ledger.count_from(recent)
        if begin >= end or room <= 0:
            return True
        first, last = self._ledger.starts[begin], self._ledger.starts[end]
        fallen = [conversation.messages[place] for place in range(first, last) if place != self._asked_at]
        if not fallen:
            return True
        revision = conversation.revision
        words = max(room // _TOKENS_PER_WORD, _MIN_WORDS)
        summary = await self._summarizer.summarize(self._summary, fallen, words)
        if summary is None:
            return False
        if revision == conversation.revision or conversation.find_change_since(revision) >= last:
            self._summary, self._until = summary, last
        return True

    def _select_portion(self, length: int) -> tuple[int, int, int]:
        """Return the next units to summarize, limited in size, and the first recent unit."""
        ledger = self._ledger
        begin = max(ledger.find_unit(self._until), ledger.head)
        recent = ledger.find_unit(max(length - self._strategy.keep_recent, 0) + 1) - 1
        if begin >= recent:
            return begin, begin, recent
        at_once = ledger.before[begin] + _PORTION * self._strategy.max_tokens
        end = min(max(bisect_right(ledger.before, at_once) - 1, begin + 1), recent)
        return begin, end, recent
