"""Conversation that somebody uses: shared by all who do, and saved when they have changed it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from tactician.cancellation import run_to_completion
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import (
    ConversationConflictError,
    ConversationNotFoundError,
    LeaseLostError,
    StoredStateError,
    StoreError,
    TacticianError,
)
from tactician.llm import ToolResult
from tactician.platform.conversations.preceding_run import PrecedingRun
from tactician.runs import RunContext

_ATTEMPTS: Final = 5
_LOST: Final = "Not run: the run was lost."


class OpenConversation:
    """Conversation of a service, as long as somebody uses it.

    Args:
        id: its id.
        store: where conversations are kept.
        is_new: true when its id was created here, and the store does not have it yet.
        idle: the conversation as it was left here; it is used again, if nobody else has changed it since.

    Attributes:
        turn: lock of the request that is answered in it.
        users: number of those who use it.
        is_answering: true while a run adds messages; it saves them at its end, with what others have changed.
    """

    __slots__ = (
        "_conversation", "_id", "_idle", "_is_deleted", "_is_new", "_is_saved", "_store", "_storing", "is_answering",
        "turn", "users",
    )  # fmt: skip

    def __init__(self, id: str, store: ConversationStore, *, is_new: bool, idle: Conversation | None) -> None:
        self._id = id
        self._store = store
        self._is_new = is_new
        self._idle = idle
        self._conversation: Conversation | None = None
        self._is_saved = False
        self._is_deleted = False
        self._storing = asyncio.Lock()
        self.turn = asyncio.Lock()
        self.users = 0
        self.is_answering = False

    @property
    def is_stored(self) -> bool:
        """True when the store has the conversation."""
        return not self._is_new

    @property
    def saved(self) -> Conversation | None:
        """The conversation, if it is as the store has it."""
        return self._conversation if self._is_saved else self._idle if self._conversation is None else None

    async def load(self, *, is_to_change: bool = False, creates: bool = False, user: str | None = None) -> Conversation:
        """Return the conversation itself, which all who use it share.

        Args:
            is_to_change: true when the caller is going to change and save it.
            creates: true to begin the conversation if it does not exist.
            user: id of the user who asks for it; by default the program does, which may have all. A conversation of
                the program that a user changes belongs to the user from then on.

        Raises:
            ConversationNotFoundError: when the conversation does not exist, or it belongs to another user.
        """
        async with self._storing:
            if self._conversation is None:
                self._conversation = await self._load(creates=creates)
                self._is_saved = not self._is_new
            conversation = self._conversation
            if user is not None and conversation.user not in (None, user):
                raise self._not_found()
            self._is_saved = self._is_saved and not is_to_change
            if is_to_change and user is not None:
                conversation.user = user
            return conversation

    async def _load(self, *, creates: bool) -> Conversation:
        idle, self._idle = self._idle, None
        if self._is_new:
            return Conversation(id=self._id)
        if idle is not None and await self._store.is_current(idle):
            return idle
        if (conversation := await self._store.load(self._id)) is not None:
            return conversation
        if not creates:
            raise self._not_found()
        self._is_new = True
        return Conversation(id=self._id)

    def _not_found(self) -> ConversationNotFoundError:
        return ConversationNotFoundError(f"There is no conversation {self._id!r}: the first message begins it")

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
    async def answer(self, context: RunContext) -> AsyncIterator[Conversation]:
        """Let a run add messages, and save them when it ends or waits.

        The conversation is saved before too: from then on it names the run, and a worker that had the run before, and
        was frozen, cannot save it any more.

        Args:
            context: context of the run.

        Raises:
            ConversationNotFoundError: when the conversation does not exist.
            ConversationConflictError: when somebody else has changed it.
            RunConflictError: when another run has begun to add messages.
        """
        self.is_answering = True
        try:
            yield await self._begin(context)
        except BaseException:
            await self._finish_failed(context)
            raise
        else:
            await run_to_completion(self._finish(context.run_id))
        finally:
            self.is_answering = False

    async def _begin(self, context: RunContext) -> Conversation:
        """Name the run in the conversation. Of changes that others save at the same moment, none is lost."""
        attempt = 0
        while True:
            attempt += 1
            conversation = await self.load(is_to_change=True)
            if attempt > 1:
                await PrecedingRun(context.store, conversation).check_ended(context.run_id)
            if conversation.find_part(context.run_id) is None:
                _answer_open_calls(conversation)
                conversation.begin_part(context.run_id)
            try:
                await self.save()
            except ConversationConflictError:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return conversation

    async def _finish(self, run_id: str) -> None:
        """Save what the run has added, and what others have changed meanwhile."""
        self.is_answering = False
        if self._conversation is not None and self._conversation.find_part(run_id) is not None:
            self._conversation.end_part()
        await self._save()

    async def _finish_failed(self, context: RunContext) -> None:
        """Save what a run has added that waits, or has failed; nothing, when another worker has the run."""
        try:
            await context.begin_step()
        except (LeaseLostError, StoreError):
            return
        except TacticianError:  # it was killed, say
            pass
        conversation = self._conversation
        if conversation is None:
            return
        if conversation.find_part(context.run_id) is None and not self._store.has_changed(conversation):
            return  # the run that is named there is about to save it
        with suppress(ConversationConflictError, StoreError, StoredStateError):
            await run_to_completion(self._finish(context.run_id))

    async def _save(self) -> None:
        async with self._storing:
            if self._conversation is not None and not self._is_deleted:
                try:
                    await self._store.save(self._conversation)
                    self._is_saved = not self.is_answering
                except ConversationConflictError:
                    self._conversation = None  # it must be loaded again
                    raise
                finally:
                    self._is_new = False


def _answer_open_calls(conversation: Conversation) -> None:
    """Answer the calls of a run that does not continue."""
    lost = [ToolResult(call.id, call.name, _LOST, is_error=True) for call in conversation.open_calls]
    conversation.extend(lost)
