"""Sums up the oldest messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tactician.conversation.conversation import Conversation
from tactician.conversation.ledger import Ledger
from tactician.conversation.sliding_window import select_newest
from tactician.conversation.summarizer import DEFAULT_PROMPT, Summarizer
from tactician.conversation.tokens import TokenCounter
from tactician.conversation.window_strategy import Window, WindowStrategy
from tactician.errors import DeclarationError
from tactician.llm import Message, UserMessage
from tactician.runs import RunContext

_HEADING = "What was said and done before this, summed up:\n"
_NOTE = UserMessage("(What was said before this is left out here: it was too long.)")
_TOKENS_PER_WORD = 2
_MIN_WORDS = 20
_PORTION = 2  # so many times `max_tokens` are summed up at once, should a conversation begin so long


@dataclass(frozen=True, slots=True)
class Summarization(WindowStrategy):
    """Has a model sum up the oldest messages of a conversation that is too long.

    Shown are the system messages at the beginning, the first message of the user, the summary as a message of the user,
    and the messages that are not summed up yet. The summary grows: the model is given the old one and what has become
    too much, at most once a turn. Where the newest messages leave no room for it, `SlidingWindow` takes over; when the
    model fails too, with a note that something is missing.

    Attributes:
        max_tokens: how long what is shown may be.
        keep_recent: so many of the newest messages are never summed up, and calls are not parted from their results.
        model: the name of the model that sums up, at the instances of the agent's own; the agent's own, when `None`.
        prompt: what that model is told to do.
        counter: counts tokens; that of the run's model by default.

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
        if problems := [f"{name} has to be at least 1" for name, number in checks if number < 1]:
            raise DeclarationError("Summarization", problems)

    def start(self, run: RunContext, counter: TokenCounter) -> Window:
        """The window of a run."""
        summarizer = Summarizer(run, self.model, self.prompt or DEFAULT_PROMPT)
        return _SummaryView(self, summarizer, counter if self.counter is None else self.counter)


class _SummaryView:
    """A summary, and the place up to which it sums up."""

    __slots__ = ("_counter", "_ledger", "_strategy", "_summarizer", "_summary", "_until")

    def __init__(self, strategy: Summarization, summarizer: Summarizer, counter: TokenCounter) -> None:
        self._strategy = strategy
        self._summarizer = summarizer
        self._counter = counter
        self._ledger = Ledger(counter)
        self._summary = ""
        self._until = 0

    async def view(self, conversation: Conversation) -> Sequence[Message]:
        """What was said, the oldest of it as a summary."""
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
        """Counts what is new. A summary of messages that have changed since is thrown away."""
        changed = self._ledger.update(conversation)
        if changed is not None and changed < self._until:
            self._summary, self._until = "", 0

    def _build_view(self, conversation: Conversation) -> Sequence[Message] | None:
        """The conversation, its oldest part summed up if any is; `None` when that is too long."""
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
        """Where the first message of the user is."""
        ledger = self._ledger
        return None if ledger.asked is None else ledger.starts[ledger.asked]

    @property
    def _fixed(self) -> int:
        """The tokens of the system messages at the beginning and the first message of the user."""
        ledger = self._ledger
        asked = 0 if ledger.asked is None else ledger.count_unit(ledger.asked)
        return ledger.total - ledger.count_from(ledger.head) + asked

    async def _sum_up(self, conversation: Conversation) -> bool:
        """Has what became too much summed up, if there is room for a summary; `False` when the model fails."""
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
        """The units to sum up next, not too many at once, and the first of the recent ones."""
        ledger = self._ledger
        begin = max(ledger.find_unit(self._until), ledger.head)
        recent = ledger.find_unit(max(length - self._strategy.keep_recent, 0) + 1) - 1
        if begin >= recent:
            return begin, begin, recent
        at_once = ledger.before[begin] + _PORTION * self._strategy.max_tokens
        end = min(max(bisect_right(ledger.before, at_once) - 1, begin + 1), recent)
        return begin, end, recent
