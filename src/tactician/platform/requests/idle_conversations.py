"""Conversations that nobody uses, which stay in memory for some time."""

from __future__ import annotations

from tactician.conversation import Conversation


class IdleConversations:
    """The conversations that were used last, so that the next request need not read all their messages.

    Args:
        messages: number of messages in all of them together.
    """

    def __init__(self, messages: int) -> None:
        self._limit = messages
        self._size = 0
        self._conversations: dict[str, Conversation] = {}

    def put(self, conversation: Conversation) -> None:
        """Add a conversation, and drop those that were used longest ago if there are too many messages."""
        self.take(conversation.id)
        self._conversations[conversation.id] = conversation
        self._size += _size(conversation)
        while self._size > self._limit:
            self.take(next(iter(self._conversations)))

    def take(self, conversation_id: str) -> Conversation | None:
        """Remove the conversation with this id, if any, and return it."""
        conversation = self._conversations.pop(conversation_id, None)
        if conversation is not None:
            self._size -= _size(conversation)
        return conversation


def _size(conversation: Conversation) -> int:
    return len(conversation) + 1  # an empty conversation takes space too
