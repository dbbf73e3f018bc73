"""`Chatbot`: an agent, or all actions of a platform, that talks with many users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final
from weakref import WeakValueDictionary

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.chat.answering import Answerer, ProcessAnswerer, RequestAnswerer
from tactician.chat.channels import EventChannel
from tactician.chat.records import ChatRecord, ChatRecords
from tactician.chat.session import ChatReply, ChatSession, SessionView
from tactician.conversation import ChatUser
from tactician.errors import ConfigurationError, ConversationNotFoundError
from tactician.events.event import new_id
from tactician.llm import UserMessage
from tactician.llm.image_checks import check_message_images
from tactician.llm.messages import SystemMessage, join_text
from tactician.loggers import get_logger
from tactician.planning import HybridPlanner, UtilityPlanner
from tactician.platform import Platform
from tactician.platform.conversations.request import RequestOptions, create_request
from tactician.process import ProcessOptions
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.conversation import OutputChannel
from tactician.runs import Budget, Input, RunContext, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.runnable import messages_of
from tactician.suggestions import suggest_options

_logger = get_logger(__name__)
_SILENT: Final = (
    "The chatbot %s will answer nothing: it plans all the way to a goal before it acts, and no message leads to one. "
    "Let it react to each message with planner=Planner.UTILITY or Planner.HYBRID. %s"
)
_UNLIMITED: Final = ProcessOptions(budget=Budget())


@suggest_options
class Chatbot(BaseRunnable[str]):
    """An agent, or all actions of a platform, that talks with many users at once.

    A planned agent has a process for each session, which rests between two messages: with each message the actions
    run that it triggers. Any other agent answers each message in the conversation of the session.

    A chatbot is a Runnable. Registered at the platform, it answers requests of an `AgentService` and of the servers, in
    the conversation that they name.

    Args:
        platform: the platform, which has the store of the sessions.
        agent: the agent, or its registered name; by default the actions of all registered agents and components, of
            which the one that is worth most reacts to a message.
        name: name of the chatbot; the name of the agent by default.
        description: what it can do.
        options: settings of the processes of planned agents; without limits by default. The budget is the budget of a
            session, with all its messages.
        patience: seconds that a message waits while another program answers in the session.
        find_memory: function that returns the id of a user's memory, for sessions that name no memory of their own.
    """

    def __init__(
        self,
        platform: Platform,
        agent: object = None,
        *,
        name: str | None = None,
        description: str | None = None,
        options: ProcessOptions = _UNLIMITED,
        patience: float = 60.0,
        find_memory: Callable[[ChatUser], str | None] | None = None,
    ) -> None:
        if not isinstance(platform, Platform):
            raise ConfigurationError(f"Chatbot needs a platform first, and {platform!r} is none: Chatbot(platform)")
        self._platform = platform
        self._answerer = _create_answerer(platform, agent, patience)
        self._options = options
        self._find_memory = find_memory
        self.name = name or (self._answerer.name if agent is not None else "Chat")
        self.description = description or self._answerer.description
        self._records = ChatRecords(platform.store)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def agent_name(self) -> str:
        """Name of the agent that answers."""
        return self._answerer.name

    async def session(
        self,
        user: str | ChatUser | None = None,
        channel: OutputChannel | None = None,
        *,
        id: str | None = None,
        memory_id: str | None = None,
        system_message: str | None = None,
    ) -> ChatSession:
        """Begin or continue a session.

        Args:
            user: the user, or the user's id; anybody by default.
            channel: shown what the chatbot says from now on, also outside of replies.
            id: id of the session, and of its conversation: any text; a new session by default.
            memory_id: id of a memory that the session knows from its beginning, and adds its findings to; the id of the
                user by default, if the chatbot finds one.
            system_message: first message of a new conversation, for the model.

        Raises:
            ConversationNotFoundError: when the session belongs to another user.
            ValueError: when the id is not a text of 1 to 200 characters.
        """
        asking = user if isinstance(user, ChatUser | None) else ChatUser(user)
        record = None if id is None else await self._records.load(id)
        if record is None:
            memory = self._choose_memory(memory_id, asking)
            record = await self._begin(ChatRecord(id or new_id(), self.name, None, asking, memory), system_message)
        if record.bot != self.name or (asking is not None and record.user is not None and record.user.id != asking.id):
            raise ConversationNotFoundError(f"{self.name} has no session {record.id!r} with this user")
        if asking is not None and record.user is None:
            record = await self._give_to(record, asking)
        return await self._open(record, channel)

    async def _give_to(self, record: ChatRecord, user: ChatUser) -> ChatRecord:
        """Give a session that belongs to nobody to the first user who asks for it."""
        async with self._platform.conversations.change(record.id, creates=True, user=user.id):
            return await self._records.give_to(record, user)

    def _choose_memory(self, memory_id: str | None, user: ChatUser | None) -> str | None:
        if memory_id is not None or user is None or self._find_memory is None:
            return memory_id
        return self._find_memory(user)

    async def find(self, id: str, channel: OutputChannel | None = None) -> ChatSession | None:
        """Return a session of this chatbot, or `None`."""
        record = await self._records.load(id)
        return None if record is None or record.bot != self.name else await self._open(record, channel)

    async def list_sessions(self, user: str | None = None, limit: int = 100) -> list[ChatSession]:
        """Return the sessions of a user, or of all users, newest first."""
        records = await self._records.find(self.name, user, limit)
        return [await self._open(record, None) for record in records]

    async def forget(self, id: str) -> bool:
        """Delete a session with its conversation and its run, and return whether it existed."""
        record = await self._records.load(id)
        if record is None or record.bot != self.name:
            return False
        async with self._hold_turn(id):
            await self._answerer.forget(record)
            await self._platform.conversations.delete(id)
            return await self._records.delete(id)

    async def answer(
        self, record: ChatRecord, message: UserMessage, key: str | None = None
    ) -> tuple[ChatReply, SessionView]:
        """Give a message to the agent: see `ChatSession.send`."""
        (checked,) = check_message_images((message,))
        assert isinstance(checked, UserMessage)
        async with self._hold_turn(record.id):
            return await self._answerer.answer(record, checked, self._get_options(record), key)

    async def respond(self, record: ChatRecord, request_id: str, response: Response) -> tuple[ChatReply, SessionView]:
        """Answer a request of the agent: see `ChatSession.respond`."""
        async with self._hold_turn(record.id):
            return await self._answerer.respond(record, request_id, response)

    async def look(self, record: ChatRecord) -> SessionView:
        """Return a session as it is in the store."""
        return await self._answerer.look(record)

    async def answer_request(self, message: Input, options: RequestOptions, context: RunContext) -> RunResult[object]:
        """Answer a request of a service, in the session with the id of its conversation, or in a new session.

        Listeners of the context hear what the chatbot says and does meanwhile.
        """
        conversation_id = options.get("conversation_id")
        channel = EventChannel(context)
        session = await self.session(options.get("user"), channel, id=conversation_id)
        try:
            (asked,) = create_request(self.name, _find_last(message), options).messages
            assert isinstance(asked, UserMessage)
            reply = await session.send(asked, idempotency_key=options.get("idempotency_key"))
        finally:
            session.close()
        return RunResult(reply.text, reply.status, pending=reply.pending, run_id=reply.run_id)

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[str]:
        # The same session when the run is repeated after a crash.
        session_id = sha256(context.idempotency_key.encode()).hexdigest()
        session = await self.session(context.find(ChatUser), id=session_id)
        reply = await session.send(_find_last(input))
        return RunResult(reply.text, process_id=reply.run_id, run_id=context.run_id)

    async def _begin(self, record: ChatRecord, system_message: str | None) -> ChatRecord:
        added = await self._records.add(replace(record, run_id=self._answerer.create_run_id()))
        if system_message is not None:
            user = None if record.user is None else record.user.id
            async with self._platform.conversations.change(record.id, creates=True, user=user) as conversation:
                if not len(conversation):
                    conversation.insert(SystemMessage(system_message))
        return added

    async def _open(self, record: ChatRecord, channel: OutputChannel | None) -> ChatSession:
        view = await self.look(record)
        leave = _do_nothing if channel is None else self._platform.process_conversations.listen(record.id, channel)
        return ChatSession(self, record, view, leave)

    def _get_options(self, record: ChatRecord) -> ProcessOptions:
        return replace(self._options, conversation_id=record.id, memory_id=record.memory_id, user=record.user)

    def _hold_turn(self, id: str) -> asyncio.Lock:
        return self._turns.setdefault(id, asyncio.Lock())


def _find_last(input: Input) -> UserMessage:
    """Return the last message of the user in an input, or all of it as a message."""
    messages = messages_of(input)
    last = messages[-1] if messages else None
    return last if isinstance(last, UserMessage) else UserMessage(join_text(messages))


def _create_answerer(platform: Platform, agent: object, patience: float) -> Answerer:
    if agent is None:
        return ProcessAnswerer(platform, None, patience)
    runnable = platform.find_agent(agent) if isinstance(agent, str) else platform.as_runnable(agent)
    spec = runnable.planned_spec if isinstance(runnable, BaseRunnable) else None
    if spec is None:
        return RequestAnswerer(platform, runnable)
    _warn_of_silence(spec)
    return ProcessAnswerer(platform, runnable, patience)


def _warn_of_silence(spec: PlannedAgentSpec) -> None:
    """Warn of an agent that would answer nothing: it only acts along a plan to its goal, and no message leads there."""
    if isinstance(spec.planner, UtilityPlanner | HybridPlanner) or not any(action.trigger for action in spec.actions):
        return
    world = spec.build_starting_world()
    reasons = [spec.planner.explain(world, spec.plannable, goal.plan) for goal in spec.goals]
    if reasons and all(reason.plan is None for reason in reasons):
        _logger.warning(_SILENT, spec.name, " ".join(map(str, reasons)))


def _do_nothing() -> None:
    pass
