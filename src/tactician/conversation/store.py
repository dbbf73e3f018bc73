"""Conversations in a document store."""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from tactician.cancellation import run_to_completion
from tactician.conversation.conversation import Conversation
from tactician.errors import ConversationConflictError, DocumentConflictError, StoredStateError
from tactician.stores import DocumentStore, StoredDocument

_COLLECTION: Final = "conversations"


class ConversationStore:
    """Conversations of a document store, by their ids.

    A loaded conversation is a copy: nobody else sees its changes before it is saved. Of two who change the same
    version, the second to save gets an error.
    """

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._saving: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def create(self, id: str | None = None) -> Conversation:
        """Store a new, empty conversation, with a random id by default.

        Raises:
            ConversationConflictError: when there is one with this id.
        """
        conversation = Conversation(id=id)
        await self.save(conversation)
        return conversation

    async def load(self, id: str) -> Conversation | None:
        """Return the conversation with this id, or `None`.

        Raises:
            StoredStateError: when the stored conversation cannot be read.
        """
        try:
            document = await self._documents.load(_COLLECTION, id)
            return None if document is None else _conversation(document)
        except StoredStateError as error:
            raise StoredStateError(
                f"The conversation {id!r} cannot be read; delete it, or restore it. {error}"
            ) from error

    async def save(self, conversation: Conversation) -> None:
        """Save a conversation as it is now, and note its new version in it.

        Saves of one conversation that overlap follow each other. A save that has begun is finished, even when its task
        is cancelled.

        Raises:
            ConversationConflictError: when somebody else has changed or deleted it since it was loaded.
            StoredStateError: when a message has no JSON form.
        """
        body = conversation.copy()
        async with self._saving.setdefault(id(conversation), asyncio.Lock()):
            await run_to_completion(self._save(conversation, body))

    async def delete(self, id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        return await self._documents.delete(_COLLECTION, id)

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all conversations, oldest first."""
        return tuple(await self._documents.list_ids(_COLLECTION))

    async def _save(self, conversation: Conversation, body: Conversation) -> None:
        version = conversation.version
        document = StoredDocument(collection=_COLLECTION, id=conversation.id, body=body, version=version)
        try:
            conversation.version = (await self._documents.save(document)).version
        except DocumentConflictError as error:
            raise _conflict(conversation.id, version) from error


def _conversation(document: StoredDocument) -> Conversation:
    body = document.body
    # A store in memory has the object.
    conversation = body.copy() if isinstance(body, Conversation) else Conversation.from_json(document.text)
    if conversation.id != document.id:
        raise StoredStateError(f"The stored conversation has the id {conversation.id!r}.")
    conversation.version = document.version
    return conversation


def _conflict(id: str, version: int) -> ConversationConflictError:
    if not version:
        return ConversationConflictError(f"There is a conversation {id} already: load that, or choose another id.")
    return ConversationConflictError(
        f"The conversation {id} was changed or deleted since it was loaded: load it again, and add what is missing."
    )
