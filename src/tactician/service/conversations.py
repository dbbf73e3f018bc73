"""Conversations by id: opened when somebody uses one, shared by all who do, saved when they have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

from tactician.cancellation import run_to_completion
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConversationNotFoundError
from tactician.events import new_id
from tactician.llm import AssistantMessage, Message, SystemMessage, Text, UserMessage

Role: TypeAlias = Literal["user", "assistant", "system"]


class _Open:
    """A conversation that somebody uses."""

    __slots__ = ("conversation", "is_answering", "is_deleted", "storing", "turn", "users")

    def __init__(self) -> None:
        self.conversation: Conversation | None = None
        self.users = 0
        self.is_answering = False
        self.is_deleted = False
        self.turn = asyncio.Lock()
        self.storing = asyncio.Lock()


class Conversations:
    """The conversations of a service. Only those that are in use are held in memory.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: ConversationStore) -> None:
        self._store = store
        self._open: dict[str, _Open] = {}
        self._new: set[str] = set()

    def create(self) -> str:
        """A new conversation's id. The store hears of it when something is said."""
        conversation_id = new_id()
        self._new.add(conversation_id)
        return conversation_id

    async def delete(self, conversation_id: str) -> None:
        """Forgets a conversation, if there is one. A run that is going on in it is not disturbed."""
        self._new.discard(conversation_id)
        opened = self._open.pop(conversation_id, None)
        if opened is not None:
            opened.is_deleted = True
            async with opened.storing:
                await self._store.delete(conversation_id)
        else:
            await self._store.delete(conversation_id)

    @asynccontextmanager
    async def turn(self, conversation_id: str) -> AsyncIterator[Conversation]:
        """The conversation, for one who says something and is answered: one after the other.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._using(conversation_id) as opened, opened.turn:
            try:
                opened.is_answering = True
                yield await self._loaded(conversation_id, opened)
            finally:
                await run_to_completion(self._save(opened, ends_turn=True))

    @asynccontextmanager
    async def change(self, conversation_id: str) -> AsyncIterator[Conversation]:
        """The conversation, for one who changes it: at once, whatever is going on in it.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._using(conversation_id) as opened:
            yield await self._loaded(conversation_id, opened)
            if not opened.is_answering:  # else it is saved at the end of that turn, when no call is open
                await run_to_completion(self._save(opened))

    @asynccontextmanager
    async def look(self, conversation_id: str) -> AsyncIterator[Conversation]:
        """The conversation, for one who only reads.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._using(conversation_id) as opened:
            yield await self._loaded(conversation_id, opened)

    @asynccontextmanager
    async def _using(self, conversation_id: str) -> AsyncIterator[_Open]:
        opened = self._open.setdefault(conversation_id, _Open())
        opened.users += 1
        try:
            yield opened
        finally:
            opened.users -= 1
            if not opened.users and self._open.get(conversation_id) is opened:
                del self._open[conversation_id]

    async def _loaded(self, conversation_id: str, opened: _Open) -> Conversation:
        async with opened.storing:
            if opened.conversation is None:
                opened.conversation = await self._find(conversation_id)
            return opened.conversation

    async def _find(self, conversation_id: str) -> Conversation:
        if conversation_id in self._new:
            return Conversation(id=conversation_id)
        found = await self._store.load(conversation_id)
        if found is None:
            raise ConversationNotFoundError(
                f"There is no conversation {conversation_id!r}: create_conversation() gives the id of a new one"
            )
        return found

    async def _save(self, opened: _Open, *, ends_turn: bool = False) -> None:
        async with opened.storing:
            opened.is_answering = opened.is_answering and not ends_turn
            if opened.conversation is not None and not opened.is_deleted:
                await self._store.save(opened.conversation)
                self._new.discard(opened.conversation.id)


def message_from(role: Role, content: str) -> Message:
    """What somebody says.

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
