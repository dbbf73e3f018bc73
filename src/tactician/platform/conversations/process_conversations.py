"""Processes in conversations: the conversation of each is held while it continues, and saved with its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from tactician.conversation import Conversation
from tactician.errors import ConversationConflictError
from tactician.llm import AssistantMessage
from tactician.platform.conversations.conversations import Conversations
from tactician.platform.conversations.open_conversation import OpenConversation
from tactician.platform.conversations.preceding_run import PrecedingRun
from tactician.process import AgentProcess, ProcessStatus
from tactician.process.state.conversation import Extent, OutputChannel, ProcessConversation
from tactician.stores import DocumentStore

_ATTEMPTS: Final = 5


class ProcessConversations:
    """Conversations of the processes of a platform, and the channels to their users.

    Args:
        conversations: the conversations.
        store: store of runs.
    """

    def __init__(self, conversations: Conversations, store: DocumentStore) -> None:
        self._conversations = conversations
        self._store = store
        self._channels: defaultdict[str, list[OutputChannel]] = defaultdict(list)

    def listen(self, conversation_id: str, channel: OutputChannel) -> Callable[[], None]:
        """Show a channel the messages of a conversation from now on, and return the function that ends that."""
        channels = self._channels[conversation_id]
        channels.append(channel)

        def leave() -> None:
            if channel in channels:
                channels.remove(channel)
            if not channels:
                self._channels.pop(conversation_id, None)

        return leave

    def show_message(self, conversation_id: str, message: AssistantMessage) -> None:
        """Show the channels of a conversation a message of the assistant."""
        for channel in self._channels.get(conversation_id, ()):
            channel.show_message(message)

    @asynccontextmanager
    async def open(self, process: AgentProcess) -> AsyncIterator[None]:
        """Hold the conversation of a process, if it takes part in one, while the process continues.

        Raises:
            RunConflictError: when another run in the conversation has not ended.
            ConversationConflictError: when others keep changing the conversation.
        """
        conversation_id, part, user = process.options.conversation_id, process.conversation, process.options.user
        if conversation_id is None or part is None or part.is_open:
            yield
            return
        async with self._conversations.hold(conversation_id) as opened:
            user_id = None if user is None else user.id
            conversation = await opened.load(is_to_change=True, creates=True, user=user_id)
            await self._check_free(conversation, process)
            conversation.agent = process.name
            channels = self._channels[conversation_id]
            part.open(conversation, lambda: _save(opened, part), channels)
            opened.is_answering = True
            try:
                if process.status is ProcessStatus.NOT_STARTED:
                    part.hear(process.blackboard.objects)
                    await part.flush()
                yield
                await part.flush()
            finally:
                part.close()
                opened.is_answering = False
                if not channels:
                    self._channels.pop(conversation_id, None)

    async def _check_free(self, conversation: Conversation, process: AgentProcess) -> None:
        part = conversation.part
        if part is not None and not part.run_id.startswith(f"{process.id}/"):
            await PrecedingRun(self._store, conversation).check_ended()


async def _save(opened: OpenConversation, part: ProcessConversation) -> Extent:
    """Save a conversation, and return its extent when that began.

    What others have changed meanwhile stays, and the messages of the process come after it.
    """
    extent = part.extent
    for attempt in range(_ATTEMPTS):
        try:
            await opened.save()
        except ConversationConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
            conversation = await opened.load(is_to_change=True, creates=True)
            added = part.unsaved
            part.use(conversation)
            conversation.extend(added)
            extent = part.extent
        else:
            break
    return extent
