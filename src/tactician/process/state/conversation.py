"""Part of a process in a conversation: the messages that it gets and sends, and the channels to its user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol, TypeAlias

from tactician.conversation import Conversation
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.process.objects import UserInput
from tactician.process.state.state import ProcessState
from tactician.runs import PendingRequest

Extent: TypeAlias = tuple[int, int]
"""Length and revision of a conversation."""
MOST_ACTIONS: Final = 25
"""Number of actions that a process runs for a single message, before it rests."""


class OutputChannel(Protocol):
    """Way to the user of a conversation. Both methods return at once: what takes time goes into a queue."""

    def show_message(self, message: AssistantMessage) -> object:
        """Show a message of the assistant, which is in the conversation."""
        ...

    def show_progress(self, text: str) -> object:
        """Show what the assistant is doing, which is not in the conversation."""
        ...


class ProcessConversation:
    """Messages of a process in its conversation.

    What an action has sent is in the conversation before the store knows that the action has ended. When the program
    dies in between, the action runs again, and what it had sent is removed first.

    Args:
        process_id: id of the process.
        state: state of the process.

    Attributes:
        conversation: the conversation, while the process continues.
        sent: messages of the process since the last message of its user.
    """

    def __init__(self, process_id: str, state: ProcessState) -> None:
        self.conversation: Conversation | None = None
        self.sent: list[AssistantMessage] = []
        self._process_id = process_id
        self._state = state
        self._channels: Sequence[OutputChannel] = ()
        self._save: Callable[[], Awaitable[Extent]] | None = None
        self._saved: Extent = (0, 0)
        self._asked: set[str] = set()
        self._acted = len(state.history)

    def open(
        self, conversation: Conversation, save: Callable[[], Awaitable[Extent]], channels: Sequence[OutputChannel]
    ) -> None:
        """Continue in the conversation.

        Args:
            conversation: the conversation.
            save: saves the conversation, and returns its extent when that began.
            channels: the channels to its user; others may be added meanwhile.
        """
        self._save, self._channels = save, channels
        self.sent, self._acted = [], len(self._state.history)
        self.use(conversation)
        if not self._state.waiting and conversation.find_part(self._key) is not None:
            conversation.restore_part(())

    def use(self, conversation: Conversation) -> None:
        """Use an object for the conversation as the store has it now."""
        self.conversation = conversation
        self._saved = self.extent
        self._state.blackboard.attach(conversation)

    def close(self) -> None:
        """Leave the conversation, until its user says more."""
        self._channels, self._save = (), None

    @property
    def is_open(self) -> bool:
        """True while the process continues in its conversation."""
        return self._save is not None

    @property
    def unsaved(self) -> tuple[Message, ...]:
        """The messages that were added since the conversation was last saved."""
        return () if self.conversation is None else tuple(self.conversation.messages[self._saved[0] :])

    @property
    def has_reached_limit(self) -> bool:
        """True when the process has run as many actions as a message may cause."""
        return len(self._state.history) - self._acted >= MOST_ACTIONS

    @property
    def has_reacted(self) -> bool:
        """True when an action has run since the last message of the user."""
        return len(self._state.history) > self._acted

    def hear(self, objects: Iterable[object]) -> None:
        """Add the objects to the conversation that are messages of the user."""
        self.sent, self._acted = [], len(self._state.history)
        for value in objects:
            message = UserMessage(value.content) if isinstance(value, UserInput) else value
            if isinstance(message, UserMessage) and self.conversation is not None:
                self.conversation.insert(message)

    def say(self, message: AssistantMessage) -> None:
        """Add a message of the assistant to the conversation, and show it to the user."""
        if self.conversation is not None and all(message is not sent_message for sent_message in self.sent):
            self._add(self.conversation, message)
            self.sent.append(message)
            for channel in self._channels:
                channel.show_message(message)

    def _add(self, conversation: Conversation, message: AssistantMessage) -> None:
        conversation.begin_part(self._key)
        conversation.insert(message)
        if conversation.part is not None:
            conversation.part.end = len(conversation)

    def ask(self, requests: Iterable[PendingRequest]) -> None:
        """Say the questions of the process that it has not sent yet."""
        for request in requests:
            if request.id not in self._asked:
                self._asked.add(request.id)
                self.say(AssistantMessage((Text(request.prompt),)))

    def report(self, text: str) -> None:
        """Show the user what the assistant is doing."""
        for channel in self._channels:
            channel.show_progress(text)

    async def flush(self) -> None:
        """Save the conversation, if it has changed."""
        if self._save is not None and self._saved != self.extent:
            self._saved = await self._save()  # actions may have sent more meanwhile

    @property
    def extent(self) -> Extent:
        """The length and the revision of the conversation."""
        conversation = self.conversation
        return (0, 0) if conversation is None else (len(conversation), conversation.revision)

    @property
    def _key(self) -> str:
        """The name of the part of the next action that ends."""
        return f"{self._process_id}/{len(self._state.history)}"
