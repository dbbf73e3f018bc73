"""Answers of agents to the messages of a chat: by a process that rests between them, or by a run for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.chat.records import ChatRecord
from tactician.chat.replies import KeyedReplies, KeyedReply
from tactician.chat.session import ChatReply, SessionView
from tactician.conversation import ChatUser, Conversation
from tactician.errors import ConversationNotFoundError, RunConflictError, RunNotFoundError, TacticianError
from tactician.events.event import new_id
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.platform import Platform
from tactician.platform.conversations.request import RequestOptions, create_request
from tactician.process import AgentProcess, Blackboard, ProcessFailedError, ProcessOptions, ProcessStatus, UserInput
from tactician.process.stored_types import type_name
from tactician.runs import Runnable, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Response
from tactician.tools.tool import as_text

_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5
_AT_REST: Final = (ProcessStatus.RESTING, ProcessStatus.WAITING)
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
        self._replies = KeyedReplies(platform.store)
        self.name = "Chat" if agent is None else agent.name
        self.description = "does whatever a message calls for" if agent is None else agent.description

    def create_run_id(self) -> str | None:
        """Return a random id."""
        return new_id()

    async def answer(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, key: str | None
    ) -> tuple[ChatReply, SessionView]:
        """Give a message to the process, once no other program continues it, and once for a key."""
        if key is None:
            return await self._send(record, message, options)
        return await self._send_once(record, message, options, key)

    async def _send_once(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, key: str
    ) -> tuple[ChatReply, SessionView]:
        """Give a message to the process, unless the process has heard the message: then return its first reply."""
        async for _ in self._wait():
            heard = len(_list_user_messages(await self._load_conversation(record)))
            reply = await self._replies.begin(record.id, key, heard)
            if reply is None:
                continue
            if reply.is_complete:
                return await self._repeat(record, reply)
            if await self._find_place(record, message, reply.heard) is None:
                return await self._send_new(record, message, options, reply)
            if (recovered := await self._recover(record, message, reply)) is not None:
                return recovered
        raise RunConflictError(f"Another program still answers this message in the session {record.id!r}.")

    async def _send_new(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions, reply: KeyedReply
    ) -> tuple[ChatReply, SessionView]:
        try:
            sent, view = await self._send(record, message, options)
        except TacticianError as error:
            if await self._find_place(record, message, reply.heard) is None:
                await self._replies.withdraw(reply)
            else:
                await self._replies.complete(reply, texts=None, failure=str(error))
            raise
        await self._replies.complete(reply, texts=tuple(part.text for part in sent.messages))
        return sent, view

    async def _recover(
        self, record: ChatRecord, message: UserMessage, reply: KeyedReply
    ) -> tuple[ChatReply, SessionView] | None:
        """Return the reply to a message that the process has heard from a program which died; `None` to wait."""
        assert record.run_id is not None
        try:
            process = await self._platform.process(record.run_id)
            if process.status not in _AT_REST:
                await self._platform.resume(record.run_id)
        except RunConflictError:  # another program continues it
            await self._replies.leave(reply)
            return None
        place = await self._find_place(record, message, reply.heard)
        later = [] if place is None else (await self._load_conversation(record)).messages[place + 1 :]
        texts = tuple(part.text for part in later if isinstance(part, AssistantMessage))
        await self._replies.complete(reply, texts=texts)
        return await self._repeat(record, replace(reply, texts=texts))

    async def _repeat(self, record: ChatRecord, reply: KeyedReply) -> tuple[ChatReply, SessionView]:
        assert record.run_id is not None
        process = await self._platform.process(record.run_id)
        if reply.failure is not None:
            raise ProcessFailedError(reply.failure, process)
        messages = tuple(AssistantMessage((Text(text),)) for text in reply.texts or ())
        return ChatReply(messages, process.status, process.id, process.pending), await self._view(record, process)

    async def _find_place(self, record: ChatRecord, message: UserMessage, heard: int) -> int | None:
        """Return the place of a message in the conversation, after so many messages of the user; `None` without it."""
        places = _list_user_messages(conversation := await self._load_conversation(record))
        return next((place for place in places[heard:] if conversation.messages[place] == message), None)

    async def _wait(self) -> AsyncIterator[None]:
        """Yield at once, then after growing pauses, as long as a message may wait."""
        clock, pause = self._platform.services.clock, _PAUSE
        deadline = clock.time() + self._patience
        yield
        while clock.time() < deadline:
            await clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            yield

    async def _send(
        self, record: ChatRecord, message: UserMessage, options: ProcessOptions
    ) -> tuple[ChatReply, SessionView]:
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
        """End the process, and delete its run and the replies to messages with keys."""
        await self._replies.forget(record.id)
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
            self._platform.process_conversations.show_message(record.id, message)
        view = SessionView(await self._load_conversation(record), result.status, result.run_id)
        return ChatReply(messages, result.status, result.run_id, result.pending), view


def _list_user_messages(conversation: Conversation) -> list[int]:
    """Return the places of the messages of the user."""
    return [place for place, message in enumerate(conversation.messages) if isinstance(message, UserMessage)]


def _create_reply(process: AgentProcess) -> ChatReply:
    """Return what a process has sent.

    Raises:
        ProcessFailedError: when an action has failed, or the process has ended otherwise than by its goal.
    """
    messages = () if process.conversation is None else tuple(process.conversation.sent)
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
