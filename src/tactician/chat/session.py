"""Session of a user with a chatbot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from weakref import finalize

from tactician.chat.records import ChatRecord
from tactician.conversation import ChatUser, Conversation
from tactician.errors import TacticianError
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, UserMessage
from tactician.runs import PendingRequest, RunStatus
from tactician.runs.outcomes.suspension import Response


@frozen
class ChatReply:
    """Reply of a chatbot to a message.

    Attributes:
        messages: the messages that the chatbot has sent since; none, when nothing reacts to the message.
        status: status of the run: `RESTING` until the next message, `WAITING` for an answer, or ended.
        run_id: id of the run that replies.
        pending: requests that the run waits for. The prompts of forms are among the messages.
        failure: why nothing reacts to the message.
    """

    messages: tuple[AssistantMessage, ...]
    status: RunStatus
    run_id: str
    pending: tuple[PendingRequest, ...] = ()
    failure: str | None = None

    @property
    def text(self) -> str:
        """The text of the messages."""
        return "\n\n".join(message.text for message in self.messages)


class SessionPort(Protocol):
    """Part of a chatbot that its sessions use."""

    async def answer(self, record: ChatRecord, message: UserMessage, key: str | None) -> tuple[ChatReply, SessionView]:
        """Give a message to the agent."""
        ...

    async def respond(self, record: ChatRecord, request_id: str, response: Response) -> tuple[ChatReply, SessionView]:
        """Answer a request of the agent."""
        ...

    async def look(self, record: ChatRecord) -> SessionView:
        """Return the session as it is in the store."""
        ...


@frozen
class SessionView:
    """Session as it is in the store.

    Attributes:
        conversation: copy of its conversation.
        status: status of its run.
        run_id: id of its run, or of the last of them; `None` before the first message.
        assets: what the agent knows.
    """

    conversation: Conversation
    status: RunStatus = RunStatus.NOT_STARTED
    run_id: str | None = None
    assets: tuple[object, ...] = ()


class ChatSession:
    """Session of a user with a chatbot: a conversation, and the run that answers in it.

    The store has all of a session: `Chatbot.session` or `Chatbot.find` continues it in any program.

    Args:
        bot: the chatbot.
        record: record of the session.
        view: the session as it is in the store.
        leave: called when the channel of the session is to be shown nothing more.
    """

    def __init__(self, bot: SessionPort, record: ChatRecord, view: SessionView, leave: Callable[[], None]) -> None:
        self._bot = bot
        self._record = record
        self._view = view
        self._leave = finalize(self, leave)

    def __repr__(self) -> str:
        return f"ChatSession({self.id!r}, {self._record.bot!r}, {self.status})"

    @property
    def id(self) -> str:
        """The id of the session, and of its conversation."""
        return self._record.id

    @property
    def user(self) -> ChatUser | None:
        """The user."""
        return self._record.user

    @property
    def memory_id(self) -> str | None:
        """The id of the memory that the session shares with others."""
        return self._record.memory_id

    @property
    def conversation(self) -> Conversation:
        """Copy of the conversation after the last message here; see `refresh`."""
        return self._view.conversation

    @property
    def run_id(self) -> str | None:
        """The id of a planned agent's process; of other agents, the id of the last run. `None` before the first."""
        return self._view.run_id

    @property
    def status(self) -> RunStatus:
        """The status after the last message here; see `refresh`."""
        return self._view.status

    @property
    def assets(self) -> tuple[object, ...]:
        """Knowledge of the agent besides the messages: the visible objects on the blackboard of a planned agent."""
        return self._view.assets

    @property
    def is_finished(self) -> bool:
        """True when the agent has reached its goal, or was ended otherwise: then it takes no more messages."""
        return self._record.run_id is not None and self.status.is_terminal

    async def send(self, message: str | UserMessage, *, idempotency_key: str | None = None) -> ChatReply:
        """Send a message of the user, and return the reply; the channels of the session get it meanwhile.

        Where the agent asks for a text, and for nothing else, the message is the answer.

        Args:
            message: the message.
            idempotency_key: key of a message that may be sent twice. In a session of a planned agent, the second
                gets the reply to the first. For any other agent it is the key of the run that answers.

        Raises:
            RunConflictError: when the session is finished, another program answers in it for too long, or a run has the
                key already.
            RunError: when an action or an agent fails. The session can be continued.
            ModelError: when a model cannot be called.
            ValueError: when a picture of the message is not valid or too large, or there are more than 20.
        """
        asked = UserMessage(message) if isinstance(message, str) else message
        try:
            reply, self._view = await self._bot.answer(self._record, asked, idempotency_key)
        except TacticianError:
            await self.refresh()
            raise
        return reply

    async def respond(self, request_id: str, response: Response) -> ChatReply:
        """Answer a request of the agent, as by a form or a button.

        Raises:
            ResponseError: when the answer does not fit; then the agent still waits.
            RunNotFoundError: when the agent waits for nothing of the kind.
        """
        try:
            reply, self._view = await self._bot.respond(self._record, request_id, response)
        except TacticianError:
            await self.refresh()
            raise
        return reply

    async def refresh(self) -> None:
        """Read the session again: another program may have continued it."""
        self._view = await self._bot.look(self._record)

    def close(self) -> None:
        """Show the channel nothing more. The session stays as it is."""
        self._leave()
