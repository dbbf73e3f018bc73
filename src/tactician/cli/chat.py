"""Conversation with an agent in the terminal, whose answers are shown as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Protocol, TypeAlias

from rich.markup import escape

from tactician.agents.planned.specs import planned_spec
from tactician.chat import Chatbot
from tactician.cli.asker import Asker
from tactician.cli.choosing import find_only_agent
from tactician.cli.console import err, out
from tactician.cli.outcomes import format_output
from tactician.conversation import Conversation
from tactician.errors import AgentNotFoundError, ConversationNotFoundError, ResponseError
from tactician.events import Event
from tactician.llm import AssistantMessage, UserMessage
from tactician.llm.messages import join_text
from tactician.loop.answer_text import AnswerReader
from tactician.platform import Platform
from tactician.platform.autonomy import Mode
from tactician.platform.conversations.request import RequestOptions
from tactician.process import MessageSent
from tactician.runs import PendingRequest, RunCompleted, Runnable, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.runnable import stream_events
from tactician.service import AgentService
from tactician.suggestions import did_you_mean

_SHOWN: int = 4
"""Messages of a conversation that is continued, which are shown again."""
FindAgent: TypeAlias = Callable[[str, str | None, Mode], Awaitable[Runnable]]
Supervise: TypeAlias = Callable[[Coroutine[object, object, None]], Awaitable[bool]]


class Lines(Protocol):
    """Reader of what a person types."""

    async def read(self, prompt: str) -> str:
        """Return a line."""
        ...

    def ask(self, prompt: str) -> str:
        """Return the answer to a question."""
        ...


class Chat:
    """Conversation with agents, which a store keeps.

    Args:
        service: agents and conversations by id.
        lines: reader of what the person types.
        conversation_id: id of the conversation; a new one begins with the first message.
        find_agent: function that finds the agent for a message.
        agent: name of the agent; `None` to find one for the first message. `@NAME` before a message changes it, and `@`
            finds one again.
    """

    def __init__(
        self,
        service: AgentService,
        lines: Lines,
        conversation_id: str,
        find_agent: FindAgent,
        agent: str | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self._service = service
        self._lines = lines
        self._find_agent = find_agent
        self._agent = agent
        self._bot = None if agent is None else _create_bot(service, agent)

    async def run(self, supervise: Supervise) -> bool:
        """Talk until the person ends it, and return whether all messages were answered.

        Args:
            supervise: function that awaits an answer, shows errors, and lets Ctrl-C cancel the answer only.
        """
        succeeded = await supervise(self._show_beginning())
        while True:
            try:
                message = await self._lines.read(f"{self._agent or 'chat'}> ")
            except KeyboardInterrupt:
                continue
            except EOFError:
                return succeeded
            if not message.strip():
                return succeeded
            succeeded = await supervise(self._answer(message)) and succeeded

    async def _show_beginning(self) -> None:
        """Show the last messages of a conversation that is continued, and ask what it waits for."""
        try:
            conversation = await self._service.conversation(self.conversation_id)
        except ConversationNotFoundError:
            return
        for message in conversation.messages[-_SHOWN:]:
            if isinstance(message, UserMessage | AssistantMessage) and (text := join_text([message])):
                who = "you" if isinstance(message, UserMessage) else "agent"
                err.print(f"[dim]{who}: {escape(text)}[/dim]", highlight=False, soft_wrap=True)
        run_id = await self._find_run(conversation)
        if run_id is not None:
            await self._ask_waiting(run_id)

    async def _find_run(self, conversation: Conversation) -> str | None:
        """Return the id of the run that answers in a conversation, if any."""
        if self._bot is not None:
            return (await self._bot.session(id=self.conversation_id)).run_id
        return None if conversation.part is None else conversation.part.run_id

    async def _ask_waiting(self, run_id: str) -> None:
        """Ask what the last run of the conversation waits for, if it does."""
        waiting = [run for run in await self._service.platform.runs(status="waiting") if run.id == run_id]
        for run in waiting:
            await self._ask_all(run_id, run.pending)

    async def _answer(self, message: str) -> None:
        if self._bot is None and not (message := self._change_agent(message)):
            return
        result = await _print_answer(await self._stream(message))
        if result is not None:
            await self._ask_all(result.run_id, result.pending)

    async def _stream(self, message: str) -> AsyncIterator[Event]:
        """Return the events of the answer to a message."""
        if (bot := self._bot) is not None:
            options = RequestOptions(conversation_id=self.conversation_id)
            context = self._service.platform.context()
            return stream_events(lambda heard: bot.answer_request(message, options, heard), context)
        agent = await self._find_agent(message, self._agent, "closed")
        self._agent = agent.name
        agent_id = next(name for name, agent_of_name in self._service.agents.items() if agent_of_name is agent)
        return self._service.stream_agent(agent_id, message, conversation_id=self.conversation_id)

    def _change_agent(self, message: str) -> str:
        """Return a message without the agent that it names at its beginning, which answers from now on.

        Nothing is left of a message that is no more than the name. A message that begins with a space names nobody.

        Raises:
            AgentNotFoundError: when there is no agent with the name.
        """
        if not message.startswith("@"):
            return message
        named, _, text = message[1:].rstrip().partition(" ")
        agents = self._service.platform.agents
        if named and named not in agents:
            raise AgentNotFoundError(
                f"There is no agent {named!r}.{did_you_mean(named, agents)} Agents: {', '.join(agents)}. "
                "To send a message that begins with @, put a space before it."
            )
        self._agent = named or None
        return text.strip()

    async def _ask_all(self, run_id: str, pending: tuple[PendingRequest, ...]) -> None:
        """Ask what a run waits for until it has ended, and print its answer."""
        while pending and (result := await self._respond(run_id, pending)) is not None:
            pending = result.pending
            if not pending:
                _print(format_output(result.output))

    async def _respond(self, run_id: str, pending: tuple[PendingRequest, ...]) -> RunResult[object] | None:
        asker = Asker(err, self._lines.ask)
        open_requests = [request for request in pending if request.required_role is None]
        if not open_requests:
            err.print(f"[yellow]{run_id} waits for somebody with another role.[/yellow]")
            return None
        try:
            responses = {request.id: asker.answer(request) for request in open_requests}
            return await self._resume(run_id, responses)
        except ResponseError as error:
            asker.complain(str(error))
            return await self._respond(run_id, pending)
        except EOFError:
            err.print("[yellow]It waits for your answer.[/yellow]")
            return None

    async def _resume(self, run_id: str, responses: Mapping[str, Response]) -> RunResult[object]:
        if self._bot is None:
            return await self._service.resume(run_id, responses)
        session, reply = await self._bot.session(id=self.conversation_id), None
        for request_id, response in responses.items():
            reply = await session.respond(request_id, response)
        assert reply is not None
        return RunResult(reply.text, reply.status, pending=reply.pending, run_id=reply.run_id)


def find_partner(platform: Platform) -> str | None:
    """Return the name of the only chatbot, or of the only agent; `None` when there are several."""
    bots = [name for name, agent in platform.agents.items() if isinstance(agent, Chatbot)]
    if len(bots) == 1:
        return bots[0]
    only = None if bots else find_only_agent(platform)
    return None if only is None else only.name


def _create_bot(service: AgentService, name: str) -> Chatbot | None:
    """Return a chatbot of a planned agent whose actions react to messages; `None` for another agent.

    Without a name, all components together are the agent.
    """
    if (agent := service.platform.agents.get(name)) is None:
        return Chatbot(service.platform)
    spec = planned_spec(agent)
    if spec is None or not any(action.trigger is not None for action in spec.actions):
        return None
    return Chatbot(service.platform, agent)


async def _print_answer(events: AsyncIterator[Event]) -> RunResult[object] | None:
    """Print the pieces of an answer as they come, or the whole of it in the end, and return the result."""
    reader, are_messages, result = AnswerReader(), False, None
    async for event in events:
        if isinstance(event, RunCompleted):
            result = event.result
        elif isinstance(event, MessageSent):
            are_messages = True
            _print(event.message.text)
        elif piece := reader.read(event):
            out.print(piece, end="", markup=False, highlight=False, soft_wrap=True)
    is_whole = are_messages or result is None or bool(result.pending)
    if reader.has_text:
        _print("" if is_whole or result is None else reader.finish(result.output))
    elif not is_whole and result is not None:
        _print(format_output(result.output))
    return result


def _print(text: str) -> None:
    out.print(text, markup=False, highlight=False, soft_wrap=True)
