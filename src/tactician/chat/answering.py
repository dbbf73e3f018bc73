"""Answers of agents to the messages of a chat: by a process that rests between them, or by a run for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from typing import Final

from tactician.agents import raise_unless_completed
from tactician.chat.records import ChatRecord
from tactician.chat.session import ChatReply, SessionView
from tactician.conversation import ChatUser, Conversation
from tactician.errors import ConfigurationError, ConversationNotFoundError, RunConflictError, RunNotFoundError
from tactician.events import new_id
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.platform import Platform, RequestOptions, create_request
from tactician.process import (
    AgentProcess,
    Blackboard,
    ProcessFailedError,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    type_name,
)
from tactician.runs import Response, Runnable, RunResult, RunStatus
from tactician.tools import as_text

_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5
_MESSAGES: Final = (UserMessage, AssistantMessage, UserInput, ChatUser)


class Answerer(ABC):
    """Way in which an agent answers the messages of sessions.

    Attributes:
        name: name of the agent.
        description: what it can do.
    """

    name: str
    description: str

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @abstractmethod
    def create_run_id(self) -> str | None:
        """Return the id of the run of a new session; `None` when each message has a run."""

    @abstractmethod
    async def answer(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, key: str | None
    ) -> tuple[ChatReply, SessionView]:
        """Give a message to the agent; see `ChatSession.send` for the key."""

    @abstractmethod
    async def respond(self, record: ChatRecord, request_id: str, response: Response) -> tuple[ChatReply, SessionView]:
        """Answer a request of the agent."""

    @abstractmethod
    async def look(self, record: ChatRecord) -> SessionView:
        """Return a session as it is in the store."""

    @abstractmethod
    async def forget(self, record: ChatRecord) -> None:
        """Delete the run of a session."""

    async def _load_conversation(self, record: ChatRecord) -> Conversation:
        try:
            async with self._platform.conversations.look(record.id) as conversation:
                return conversation.copy()
        except ConversationNotFoundError:
            return Conversation(id=record.id)


class ProcessAnswerer(Answerer):
    """Planned agent with a process for each session.

    Args:
        platform: the platform.
        agent: the agent; all actions of the platform, when `None`.
        patience: seconds that a message waits while another program answers in the session.
    """

    def __init__(self, platform: Platform, agent: Runnable | None, patience: float) -> None:
        super().__init__(platform)
        self._agent = agent
        self._patience = patience
        self.name = "Chat" if agent is None else agent.name
        self.description = "does whatever a message calls for" if agent is None else agent.description

    def create_run_id(self) -> str | None:
        """Return a random id."""
        return new_id()

    async def answer(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, key: str | None
    ) -> tuple[ChatReply, SessionView]:
        """Give a message to the process, once no other program continues it."""
        if key is not None:
            raise ConfigurationError(
                f"{self.name} is a planned agent, whose sessions have one run for all messages: they take no "
                "idempotency_key. Send the message without it."
            )
        assert record.run_id is not None
        clock, pause = self._platform.services.clock, _PAUSE
        deadline = clock.time() + self._patience
        while True:
            agent = self._agent or self._platform.as_agent()
            try:
                process = await self._platform.converse(
                    agent, message, run_id=record.run_id, options=_add_user(options, agent, record.user)
                )
            except RunConflictError:
                if clock.time() >= deadline or (await self._find_process(record)) is None:
                    raise
            else:
                return _create_reply(process), await self._view(record, process)
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def respond(self, record: ChatRecord, request_id: str, response: Response) -> tuple[ChatReply, SessionView]:
        """Answer a request of the process."""
        assert record.run_id is not None
        process = await self._platform.respond(record.run_id, request_id, response)
        assert isinstance(process, AgentProcess)
        return _create_reply(process), await self._view(record, process)

    async def look(self, record: ChatRecord) -> SessionView:
        """Return the session, with the objects on the blackboard of the process."""
        assert record.run_id is not None
        try:
            process = await self._platform.process(record.run_id)
        except RunNotFoundError:
            return SessionView(await self._load_conversation(record), run_id=record.run_id)
        return await self._view(record, process)

    async def _view(self, record: ChatRecord, process: AgentProcess) -> SessionView:
        assets = tuple(value for value in process.blackboard.objects if not isinstance(value, _MESSAGES))
        return SessionView(await self._load_conversation(record), process.status, record.run_id, assets)

    async def forget(self, record: ChatRecord) -> None:
        """End the process, and delete its run."""
        if record.run_id is not None:
            with suppress(RunNotFoundError):
                await self._platform.delete_run(record.run_id)

    async def _find_process(self, record: ChatRecord) -> AgentProcess | None:
        """Return the process of a session that can be continued; `None` when it has ended."""
        assert record.run_id is not None
        with suppress(RunNotFoundError):  # another program is about to begin it
            process = await self._platform.process(record.run_id)
            return None if process.status.is_terminal else process
        return None


class RequestAnswerer(Answerer):
    """Agent of any other kind, with a run for each message.

    Args:
        platform: the platform.
        agent: the agent.
    """

    def __init__(self, platform: Platform, agent: Runnable) -> None:
        super().__init__(platform)
        self._agent = agent
        self.name = agent.name
        self.description = agent.description

    def create_run_id(self) -> str | None:
        """Return `None`."""
        return None

    async def answer(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, key: str | None
    ) -> tuple[ChatReply, SessionView]:
        """Let the agent answer in the conversation."""
        asked = RequestOptions(conversation_id=record.id, user=record.user)
        request = create_request(self._agent.name, message, asked)
        context = self._platform.context()
        result = await self._platform.requests.answer(
            request, self._agent, context, name=self.name, budget=options.budget, key=key
        )
        return await self._show(record, result)

    async def respond(self, record: ChatRecord, request_id: str, response: Response) -> tuple[ChatReply, SessionView]:
        """Answer a request of the run that waits in the conversation."""
        part = (await self._load_conversation(record)).part
        if part is None:
            raise RunNotFoundError(f"The session {record.id!r} waits for nothing.")
        context = self._platform.context()
        result = await self._platform.requests.resume(part.run_id, {request_id: response}, context=context)
        return await self._show(record, result)

    async def look(self, record: ChatRecord) -> SessionView:
        """Return the session, with the last run in its conversation."""
        conversation = await self._load_conversation(record)
        if (part := conversation.part) is None:
            return SessionView(conversation)
        status = RunStatus.COMPLETED
        with suppress(RunNotFoundError):  # without a durable store, ended runs are gone
            status = RunStatus((await self._platform.tree(part.run_id)).run.status)
        return SessionView(conversation, status, part.run_id)

    async def forget(self, record: ChatRecord) -> None:
        """End the run that waits in the conversation, if any."""
        if (part := (await self._load_conversation(record)).part) is not None:
            await self._platform.requests.give_up(part.run_id, self._platform.context())

    async def _show(self, record: ChatRecord, result: RunResult[object]) -> tuple[ChatReply, SessionView]:
        messages = () if result.output is None else (AssistantMessage((Text(as_text(result.output)),)),)
        for message in messages:
            self._platform.dialogues.show_message(record.id, message)
        view = SessionView(await self._load_conversation(record), result.status, result.run_id)
        return ChatReply(messages, result.status, result.run_id, result.pending), view


def _create_reply(process: AgentProcess) -> ChatReply:
    """Return what a process has sent.

    Raises:
        ProcessFailedError: when an action has failed, or the process has ended otherwise than by its goal.
    """
    messages = () if process.dialogue is None else tuple(process.dialogue.sent)
    if process.status is ProcessStatus.RESTING and process.error is not None:
        raise ProcessFailedError(f"{process.name}: {process.failure}", process) from process.error
    if process.status.is_terminal:
        raise_unless_completed(process)
    return ChatReply(messages, process.status, process.id, process.pending, process.failure)


def _add_user(options: ProcessOptions, agent: Runnable, user: ChatUser | None) -> ProcessOptions:
    """Return the options with the user on the blackboard, for an agent that takes a `ChatUser`."""
    spec = getattr(agent, "planned_spec", None)
    if user is None or spec is None or type_name(ChatUser) not in spec.types:
        return options
    board = options.blackboard
    entries = () if board is None else board.objects
    return replace(options, blackboard=Blackboard(*entries, user))
