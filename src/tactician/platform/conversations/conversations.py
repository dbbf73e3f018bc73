"""Conversations by id: opened when somebody uses one, shared by all who do, saved when they have changed it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeAlias

from tactician.conversation import Conversation, ConversationStore
from tactician.conversation.summary import ConversationSummary
from tactician.errors import RunConflictError
from tactician.events.event import new_id
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.platform.conversations.open_conversation import OpenConversation

Role: TypeAlias = Literal["user", "assistant", "system"]
_LONGEST_ID: Final = 200


class Conversations:
    """The conversations of a platform. Those in use are held in memory, and the last ones that were.

    An id is any text of up to 200 characters. The first message begins the conversation, and from then on any program
    with the same store finds it.

    Args:
        store: where they are kept.
        idle_messages: number of messages in conversations that nobody uses, which are held in memory.
    """

    def __init__(self, store: ConversationStore, idle_messages: int) -> None:
        self._store = store
        self._open: dict[str, OpenConversation] = {}
        self._idle = _IdleConversations(idle_messages)
        self._new: set[str] = set()

    def create(self) -> str:
        """Return an id that no conversation has."""
        conversation_id = new_id()
        self._new.add(conversation_id)
        return conversation_id

    async def find_summaries(self, *, limit: int = 100, after: int | None = None) -> list[ConversationSummary]:
        """Return what a list shows of each stored conversation; see `ConversationStore.find_summaries`."""
        return await self._store.find_summaries(limit=limit, after=after)

    async def delete(self, conversation_id: str) -> None:
        """Forget a conversation, if it exists. A run that still works in it is not disturbed."""
        self._new.discard(conversation_id)
        self._idle.take(conversation_id)
        if (opened := self._open.pop(conversation_id, None)) is not None:
            await opened.delete()
        else:
            await self._store.delete(conversation_id)

    @asynccontextmanager
    async def hold(self, conversation_id: str) -> AsyncIterator[OpenConversation]:
        """Give a conversation to requests in sequence.

        Raises:
            ValueError: when the id is not a text of 1 to 200 characters.
        """
        async with self._use(conversation_id) as opened, opened.turn:
            yield opened

    @asynccontextmanager
    async def change(
        self, conversation_id: str, *, creates: bool = False, user: str | None = None
    ) -> AsyncIterator[Conversation]:
        """Open a conversation for a change: at once, even while a run works in it.

        Raises:
            ConversationNotFoundError: when the conversation does not exist, or it belongs to another user.
            ValueError: when the id is not a text of 1 to 200 characters.
        """
        async with self._use(conversation_id) as opened:
            yield await opened.load(is_to_change=True, creates=creates, user=user)
            if not opened.is_answering:  # else it is saved at the end of that, when no call is open
                await opened.save()

    async def copy(self, conversation_id: str, request: Sequence[Message], run_id: str) -> str:
        """Copy a conversation as it was before a request, and return the id of the copy.

        Args:
            conversation_id: id of the conversation.
            request: messages of the request.
            run_id: id of the run that answers the request.

        Raises:
            ConversationNotFoundError: when the conversation does not exist.
            RunConflictError: when the request is no longer there.
        """
        async with self.look(conversation_id) as conversation:
            length = _find_request(conversation, request, run_id)
            messages, user = conversation.messages[:length], conversation.user
        copied = self.create()
        async with self.change(copied, user=user) as copy:
            copy.extend(messages)
        return copied

    @asynccontextmanager
    async def look(self, conversation_id: str) -> AsyncIterator[Conversation]:
        """Open a conversation for reading only.

        Raises:
            ConversationNotFoundError: when the conversation does not exist.
        """
        async with self._use(conversation_id) as opened:
            yield await opened.load()

    @asynccontextmanager
    async def _use(self, conversation_id: str) -> AsyncIterator[OpenConversation]:
        if not 0 < len(conversation_id) <= _LONGEST_ID:
            raise ValueError(f"The id of a conversation has 1 to {_LONGEST_ID} characters, not {len(conversation_id)}")
        opened = self._open.get(conversation_id) or self._open_one(conversation_id)
        opened.users += 1
        try:
            yield opened
        finally:
            opened.users -= 1
            if opened.is_stored:
                self._new.discard(conversation_id)
            if not opened.users and self._open.get(conversation_id) is opened:
                del self._open[conversation_id]
                if (saved := opened.saved) is not None:
                    self._idle.put(saved)

    def _open_one(self, conversation_id: str) -> OpenConversation:
        opened = self._open[conversation_id] = OpenConversation(
            conversation_id,
            self._store,
            is_new=conversation_id in self._new,
            idle=self._idle.take(conversation_id),
        )
        return opened


class _IdleConversations:
    """Conversations that were used last, so that the next request need not read all their messages.

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
        self._size += _measure(conversation)
        while self._size > self._limit:
            self.take(next(iter(self._conversations)))

    def take(self, conversation_id: str) -> Conversation | None:
        """Remove the conversation with this id, if any, and return it."""
        conversation = self._conversations.pop(conversation_id, None)
        if conversation is not None:
            self._size -= _measure(conversation)
        return conversation


def _measure(conversation: Conversation) -> int:
    return len(conversation) + 1  # an empty conversation takes space too


def _find_request(conversation: Conversation, request: Sequence[Message], run_id: str) -> int:
    """Return the number of messages before a request."""
    if (part := conversation.find_part(run_id)) is not None:
        return part.begin
    messages, length = list(conversation.messages), len(request)
    for place in range(len(messages) - length, -1, -1):
        if messages[place : place + length] == list(request):
            return place
    raise RunConflictError(
        f"The conversation {conversation.id!r} no longer has the request of the run {run_id}: it cannot be forked."
    )


def create_message(role: Role, content: str) -> Message:
    """Return what somebody says as a message.

    Raises:
        ValueError: when there is no such role.
    """
    if role == "assistant":
        return AssistantMessage((Text(content),))
    if role == "user":
        return UserMessage(content)
    if role == "system":
        return SystemMessage(content)
    raise ValueError(f"A message comes from the user, the assistant or the system, not from {role!r}")
