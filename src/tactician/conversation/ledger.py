"""The units of a conversation and how long they are, kept up to date as it grows."""

from __future__ import annotations

from bisect import bisect_left

from tactician.conversation.conversation import Conversation
from tactician.conversation.tokens import TokenCounter
from tactician.llm import SystemMessage, ToolResult, UserMessage


class Ledger:
    """What each unit of a conversation takes. A unit is a message with the tool results that follow it.

    `update` costs what is new: no message is counted twice, unless it comes after one that has changed.

    Attributes:
        starts: where each unit begins.
        before: the tokens of all units before each unit.
        total: the tokens of all units.
        head: how many system messages the conversation begins with; each of them is a unit.
        asked: which unit is the first message of the user; `None` when there is none.
    """

    __slots__ = ("_conversation", "_counter", "_revision", "_seen", "asked", "before", "head", "starts", "total")

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._conversation: Conversation | None = None
        self._revision = self._seen = self.head = self.total = 0
        self.starts: list[int] = []
        self.before: list[int] = []
        self.asked: int | None = None

    def update(self, conversation: Conversation) -> int | None:
        """Counts what is new in the conversation.

        Returns:
            From which place on messages were changed that had been counted before; `None` when none were.
        """
        changed = None
        if conversation is not self._conversation:
            changed = 0
        elif conversation.revision != self._revision:
            changed = conversation.find_change_since(self._revision)
        if changed is not None:
            self._forget(changed)
            self._conversation, self._revision = conversation, conversation.revision
        messages = conversation.messages
        for place in range(self._seen, len(messages)):
            message = messages[place]
            if not isinstance(message, ToolResult) or not self.starts:
                self._begin_unit(place, isinstance(message, SystemMessage), isinstance(message, UserMessage))
            self.total += self._counter.count(message)
        self._seen = len(messages)
        return changed

    def count_from(self, unit: int) -> int:
        """The tokens of the unit and all after it."""
        return self.total - self.before[unit] if unit < len(self.before) else 0

    def count_unit(self, unit: int) -> int:
        """The tokens of one unit."""
        return self.count_from(unit) - self.count_from(unit + 1)

    def find_newest_within(self, tokens: int) -> int:
        """The first of the newest units that take no more than so many tokens together."""
        return bisect_left(self.before, self.total - tokens)

    def find_unit(self, place: int) -> int:
        """The first unit that begins at the place or after it."""
        return bisect_left(self.starts, place)

    def _begin_unit(self, place: int, is_system: bool, is_user: bool) -> None:
        if is_system and self.head == len(self.starts):
            self.head += 1
        if is_user and self.asked is None:
            self.asked = len(self.starts)
        self.starts.append(place)
        self.before.append(self.total)

    def _forget(self, place: int) -> None:
        """Forgets the units from the place on, and the one before, for its results may be others."""
        unit = max(self.find_unit(place) - 1, 0)
        if unit < len(self.starts):
            self._seen, self.total = self.starts[unit], self.before[unit]
        del self.starts[unit:], self.before[unit:]
        self.head = min(self.head, unit)
        if self.asked is not None and self.asked >= unit:
            self.asked = None
