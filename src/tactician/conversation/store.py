"""Where conversations are kept from one run to the next."""

from __future__ import annotations

from typing import Protocol

from tactician.conversation.conversation import Conversation
from tactician.errors import ConversationConflictError


class ConversationStore(Protocol):
    """Keeps conversations by their ids.

    What is loaded is a conversation of one's own: nobody else sees its changes before it is saved. Of two who change
    the same version, the second to save is told so.
    """

    async def create(self, id: str | None = None) -> Conversation:
        """A new, empty conversation, which is kept; it gets a random id, unless it is given one.

        Raises:
            ConversationConflictError: when there is one with this id.
        """
        ...

    async def load(self, id: str) -> Conversation | None:
        """The conversation with this id; `None` when there is none.

        Raises:
            StoredStateError: when what is kept cannot be read.
        """
        ...

    async def save(self, conversation: Conversation) -> None:
        """Keeps a conversation as it is now, and notes its new version in it.

        Raises:
            ConversationConflictError: when somebody else has changed or deleted it since it was loaded.
        """
        ...

    async def delete(self, id: str) -> bool:
        """Deletes a conversation; whether there was one."""
        ...

    async def ids(self) -> tuple[str, ...]:
        """The ids of all conversations, in the order in which they were made."""
        ...


class MemoryConversations:
    """Keeps conversations in this process, as long as it lives, and until they are deleted: delete what is over."""

    def __init__(self) -> None:
        self._kept: dict[str, Conversation] = {}

    def __len__(self) -> int:
        return len(self._kept)

    async def create(self, id: str | None = None) -> Conversation:
        """A new, empty conversation, which is kept.

        Raises:
            ConversationConflictError: when there is one with this id.
        """
        conversation = Conversation(id=id)
        await self.save(conversation)
        return conversation

    async def load(self, id: str) -> Conversation | None:
        """The conversation with this id; `None` when there is none."""
        kept = self._kept.get(id)
        return None if kept is None else kept.copy()

    async def save(self, conversation: Conversation) -> None:
        """Keeps a conversation as it is now, and notes its new version in it.

        Raises:
            ConversationConflictError: when somebody else has changed or deleted it since it was loaded.
        """
        kept = self._kept.get(conversation.id)
        if (0 if kept is None else kept.version) != conversation.version:
            raise conflict(conversation.id, conversation.version)
        conversation.version += 1
        self._kept[conversation.id] = conversation.copy()

    async def delete(self, id: str) -> bool:
        """Deletes a conversation; whether there was one."""
        return self._kept.pop(id, None) is not None

    async def ids(self) -> tuple[str, ...]:
        """The ids of all conversations, in the order in which they were made."""
        return tuple(self._kept)


def conflict(id: str, version: int) -> ConversationConflictError:
    """Why a conversation of this version was not saved."""
    if not version:
        return ConversationConflictError(f"There is a conversation {id} already: load that, or choose another id.")
    return ConversationConflictError(
        f"The conversation {id} was changed or deleted since it was loaded: load it again, and add what is missing."
    )
