"""Conversation that somebody uses: shared by all who do, and saved when they have changed it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tactician.cancellation import run_to_completion
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConversationConflictError, ConversationNotFoundError
from tactician.llm import ToolResult

_LOST = "Not run: the run was lost."


class OpenConversation:
    """One conversation of a service, as long as somebody uses it.

    Args:
        id: its id.
        store: where conversations are kept.
        is_new: true when the store does not have it yet.

    Attributes:
        turn: lock of the request that is answered in it.
        users: number of those who use it.
        is_answering: true while a run adds messages; it saves them at its end, with what others have changed.
    """

    __slots__ = (
        "_conversation",
        "_id",
        "_is_deleted",
        "_is_new",
        "_store",
        "_storing",
        "is_answering",
        "turn",
        "users",
    )

    def __init__(self, id: str, store: ConversationStore, *, is_new: bool) -> None:
        self._id = id
        self._store = store
        self._is_new = is_new
        self._conversation: Conversation | None = None
        self._is_deleted = False
        self._storing = asyncio.Lock()
        self.turn = asyncio.Lock()
        self.users = 0
        self.is_answering = False

    @property
    def is_stored(self) -> bool:
        """True when the store has the conversation."""
        return not self._is_new

    async def load(self) -> Conversation:
        """Return the conversation itself, which all who use it share.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._storing:
            if self._conversation is None:
                self._conversation = Conversation(id=self._id) if self._is_new else await self._store.load(self._id)
            if self._conversation is None:
                raise ConversationNotFoundError(
                    f"There is no conversation {self._id!r}: create_conversation() gives the id of a new one"
                )
            return self._conversation

    async def save(self) -> None:
        """Save the conversation, whatever is cancelled meanwhile.

        Raises:
            ConversationConflictError: when somebody else has changed it.
        """
        await run_to_completion(self._save())

    async def delete(self) -> None:
        """Delete the conversation from the store. Nobody saves it any more."""
        self._is_deleted = True
        async with self._storing:
            await self._store.delete(self._id)

    @asynccontextmanager
    async def answer(self, run_id: str) -> AsyncIterator[Conversation]:
        """Let a run add messages, and save them when it ends or waits.

        The conversation is saved before too: from then on it names the run, and a worker that had the run before, and
        was frozen, cannot save it any more.

        Raises:
            ConversationNotFoundError: when there is none.
            ConversationConflictError: when somebody else has changed it.
        """
        conversation = await self.load()
        if conversation.find_part(run_id) is None:
            _answer_open_calls(conversation)
            conversation.begin_part(run_id)
        self.is_answering = True
        try:
            await self.save()
            yield conversation
        except BaseException:
            with suppress(ConversationConflictError):
                await run_to_completion(self._finish(conversation))
            raise
        await run_to_completion(self._finish(conversation))

    async def _finish(self, conversation: Conversation) -> None:
        self.is_answering = False
        conversation.end_part()
        await self._save()

    async def _save(self) -> None:
        async with self._storing:
            if self._conversation is not None and not self._is_deleted:
                try:
                    await self._store.save(self._conversation)
                except ConversationConflictError:
                    self._conversation = None  # it has to be loaded again
                    raise
                finally:
                    self._is_new = False


def _answer_open_calls(conversation: Conversation) -> None:
    """Answer the calls of a run that does not continue."""
    lost = [ToolResult(call.id, call.name, _LOST, is_error=True) for call in conversation.open_calls]
    conversation.extend(lost)
