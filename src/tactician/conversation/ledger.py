"""Token counts of the units of a conversation, updated as the conversation grows."""

from __future__ import annotations

from bisect import bisect_left

from tactician.conversation.conversation import Conversation
from tactician.conversation.tokens import TokenCounter
from tactician.llm import ToolResult, UserMessage
from tactician.llm.messages import SystemMessage


class Ledger:
    """Token counts by unit. A unit is a message with the tool results that follow it.

    `update` counts only new messages, and those after a changed message.

    Attributes:
        starts: the first position of each unit.
        before: the tokens of all units before each unit.
        total: the tokens of all units.
        head: number of system messages at the beginning; each of them is a unit.
        asked: the unit of the first user message, or `None`.
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
        """Count the new messages of the conversation.

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
        seen = self._seen
        for place, message in enumerate(conversation.messages[seen:], start=seen):
            if not isinstance(message, ToolResult) or not self.starts:
                self._begin_unit(place, isinstance(message, SystemMessage), isinstance(message, UserMessage))
            self.total += self._counter.count(message)
            self._seen = place + 1
        return changed

    def count_from(self, unit: int) -> int:
        """Return the tokens of a unit and of all units after it."""
        return self.total - self.before[unit] if unit < len(self.before) else 0

    def count_unit(self, unit: int) -> int:
        """Return the tokens of a unit."""
        return self.count_from(unit) - self.count_from(unit + 1)

    def find_newest_within(self, tokens: int) -> int:
        """Return the first of the newest units that fit in so many tokens."""
        return bisect_left(self.before, self.total - tokens)

    def find_unit(self, place: int) -> int:
        """Return the first unit that begins at a position or after it."""
        return bisect_left(self.starts, place)

    def _begin_unit(self, place: int, is_system: bool, is_user: bool) -> None:
        if is_system and self.head == len(self.starts):
            self.head += 1
        if is_user and self.asked is None:
            self.asked = len(self.starts)
        self.starts.append(place)
        self.before.append(self.total)

    def _forget(self, place: int) -> None:
        """Forget the units from a position on, and the unit before, whose results may have changed."""
        unit = max(self.find_unit(place) - 1, 0)
        if unit < len(self.starts):
            self._seen, self.total = self.starts[unit], self.before[unit]
        del self.starts[unit:], self.before[unit:]
        self.head = min(self.head, unit)
        if self.asked is not None and self.asked >= unit:
            self.asked = None
