"""Runs that conversations wait for. They are stored beside the runs, so that both exist or neither."""

from __future__ import annotations

from typing import Final

from tactician.conversation import Conversation
from tactician.errors import RunConflictError
from tactician.llm import ToolResult
from tactician.runs import RunStore
from tactician.stores import DocumentStore, StoredDocument

_COLLECTION: Final = "waiting_conversations"


class WaitingRuns:
    """Runs that wait, by the ids of their conversations."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    async def begin(self, conversation: Conversation) -> None:
        """Check that a conversation can be continued, and answer the open calls of a run that is lost.

        Raises:
            RunConflictError: when a run waits that is a part of it.
        """
        document = await self._store.load(_COLLECTION, conversation.id)
        if document is not None:
            raise RunConflictError(
                f"The conversation {conversation.id!r} waits for the run {document.text}: resume that first, if only "
                "to reject what it waits for"
            )
        lost = [ToolResult(c.id, c.name, "Not run: the run was lost.", is_error=True) for c in conversation.open_calls]
        conversation.extend(lost)

    async def wait(self, conversation_id: str, run_id: str) -> None:
        """Let a conversation wait for a run."""
        known = await self._store.load(_COLLECTION, conversation_id)
        version = 0 if known is None else known.version
        await self._store.save(StoredDocument(collection=_COLLECTION, id=conversation_id, body=run_id, version=version))

    async def give_up(self, conversation_id: str) -> None:
        """Delete the run that a conversation waits for, if there is one."""
        if (document := await self._store.load(_COLLECTION, conversation_id)) is not None:
            await RunStore(self._store).delete(document.text)
            await self.end(conversation_id)

    async def end(self, conversation_id: str) -> None:
        """Let a conversation wait no more."""
        await self._store.delete(_COLLECTION, conversation_id)
