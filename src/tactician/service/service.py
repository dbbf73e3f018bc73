"""`AgentService`: agents by id, conversations by id."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import cast, overload

from typing_extensions import TypeForm, TypeVar, Unpack, override

from tactician.agents import Agent
from tactician.chat.reactive import find_chatbot
from tactician.conversation import Conversation
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    ConversationNotFoundError,
    StoredStateError,
)
from tactician.events import Event
from tactician.grammar import add_article
from tactician.llm import LanguageModel
from tactician.llm.model_sources import ModelSource
from tactician.platform import Platform, Request
from tactician.platform.conversations.conversations import Role, create_message
from tactician.platform.conversations.request import RequestOptions, create_model_agent, create_request
from tactician.prompts.variables import find_variables, render_variables
from tactician.runs import Input, RunContext, Runnable, RunResult
from tactician.runs.context.threads import run_blocking
from tactician.runs.outcomes.suspension import Response
from tactician.runs.runnable import stream_events
from tactician.service.folder import AgentFolder
from tactician.service.media import MediaService
from tactician.service.names import AgentFileNames
from tactician.service.options import AgentOptions, ModelOptions, model_options
from tactician.suggestions import suggest_options
from tactician.tools.declared_tool import ToolExecutor
from tactician.tools.toolbox import ToolLike

T = TypeVar("T", default=str)
_NOTHING: Mapping[str, object] = MappingProxyType({})


@suggest_options
class AgentService(MediaService):
    """A platform by ids: agents by id and conversations by id, for a program that serves many users.

    Args:
        platform: the platform; or a router, another source of models, or a single model for everything, for a platform
            with nothing else. By default a platform with the models of the environment.
        folder: of JSON files, each of which describes an agent; `reload` reads them again.
        names: what these files may name: classes and functions by name.
        packages: modules whose public classes and functions these files may name too, such as `acme.tools`.

    Attributes:
        platform: the platform, which has the agents, the models, the store and the conversations.

    Raises:
        AgentFileError: with every mistake in all files of the folder.
        ImportError: when a package cannot be imported.
    """

    def __init__(
        self,
        platform: Platform | ModelSource | LanguageModel | None = None,
        *,
        folder: str | Path | None = None,
        names: Mapping[str, object] = _NOTHING,
        packages: Sequence[str] = (),
    ) -> None:
        self.platform = platform if isinstance(platform, Platform) else Platform(platform)
        super().__init__(self.platform.services.models)
        file_names = AgentFileNames(names, packages)
        self._folder = None if folder is None else AgentFolder(Path(folder), file_names, self.platform)

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """The registered agents, by id."""
        return self.platform.agents_by_id

    @override
    def context(self) -> RunContext:
        """Return a context for runs beside the service: `await agent.run(..., context=service.context())`."""
        return self.platform.context()

    def register(self, *agents: object, replace: bool = False) -> AgentService:
        """Register Runnables and instances of `@planned_agent` classes, by their `id`, else their name in snake case.

        Args:
            *agents: agents to register.
            replace: True to replace an agent of the same id, which still finishes the runs that it has begun.

        Returns:
            The service.

        Raises:
            DeclarationError: when an agent is not a Runnable or its id is taken; with every mistake of all of them.
                Then none is registered.
        """
        self.platform.register(*agents, replace=replace)
        return self

    def unregister(self, agent_id: str) -> None:
        """Forget an agent. What it has begun it finishes.

        Raises:
            AgentNotFoundError: when the agent does not exist.
        """
        self.platform.unregister(agent_id)

    def reload(self) -> tuple[str, ...]:
        """Read the folder again: what is new is registered, what is gone is forgotten. On a mistake nothing changes.

        Returns:
            The ids of the folder's agents.

        Raises:
            AgentFileError: with every mistake in all files.
            ConfigurationError: when the service has no folder.
        """
        if self._folder is None:
            raise ConfigurationError("This service has no folder of agents; make it with AgentService(folder=...)")
        return self._folder.reload()

    def update_tools(self, agent_id: str, tools: Sequence[ToolLike]) -> int:
        """Give a registered agent other tools. Requests that it is answering have them from their next turn on.

        Returns:
            How many requests these are.

        Raises:
            AgentNotFoundError: when there is no such `Agent`.
            DeclarationError: when a tool is not declared correctly; then nothing changes.
        """
        agent = self.agents.get(agent_id) or self.platform.find_agent(agent_id)
        if not isinstance(agent, Agent):
            raise AgentNotFoundError(
                f"{agent_id!r} is {add_article(type(agent).__name__)} and not an Agent: it has no tools of its own"
            )
        agent.replace_tools(tools)
        return self.platform.requests.active[agent_id]

    async def request_agent(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> RunResult[object]:
        """Return the answer of an agent.

        Args:
            agent_id: its id; or the name of a model, with `-websearch` or `-codeinterpreter` behind it if need be.
            message: the message to the agent.
            options: see `AgentOptions`.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            AgentNotFoundError: when there is neither such an agent nor such a model.
            RunConflictError: when the conversation waits for another run, or another run has the idempotency key.
            ConversationConflictError: when another process has changed the conversation meanwhile.
            MissingPromptVariable: when a variable of the instructions has no value.
            ValueError: when a picture is none, there is a conversation and a history, or the id of the conversation is
                no text of 1 to 200 characters.
            RunError: when it fails; the error holds what was done so far.
            ModelError: when a model cannot be called.
        """
        return await self._request(agent_id, message, options, self.context())

    def request_agent_sync(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> RunResult[object]:
        """Call `request_agent` from a program without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop.
        """
        return run_blocking(self.request_agent(agent_id, message, **options))

    def stream_agent(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> AsyncGenerator[Event]:
        """Return the events of a request to an agent, the answer in pieces; the last is `RunCompleted`."""
        return stream_events(lambda heard: self._request(agent_id, message, options, heard), self.context())

    @overload
    async def request_model(
        self, model: str, message: Input, *, output_type: None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[str]: ...

    @overload
    async def request_model(
        self, model: str, message: Input, *, output_type: TypeForm[T], **options: Unpack[ModelOptions]
    ) -> RunResult[T]: ...

    async def request_model(
        self, model: str, message: Input, *, output_type: TypeForm[T] | None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[T]:
        """Return the answer of a model, without an agent.

        Args:
            model: its name.
            message: the message to the model.
            output_type: what the answer must be; text by default.
            options: see `ModelOptions`.

        Raises:
            ConfigurationError: when there is no such model.
            Exception: all else that `request_agent` raises.
        """
        tools = options.get("tools") or ()
        request = create_request(
            model,
            message,
            options,
            instructions=options.get("instructions"),
            model=model_options(model, options),
            is_bound=bool(tools) or output_type is not None,
        )
        agent = create_model_agent(request, tools, output_type)
        result = await self._answer(request, agent, self.context(), options)
        return cast("RunResult[T]", result)  # it is what the agent gives

    @overload
    def request_model_sync(
        self, model: str, message: Input, *, output_type: None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[str]: ...

    @overload
    def request_model_sync(
        self, model: str, message: Input, *, output_type: TypeForm[T], **options: Unpack[ModelOptions]
    ) -> RunResult[T]: ...

    def request_model_sync(
        self, model: str, message: Input, *, output_type: TypeForm[T] | None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[T]:
        """Call `request_model` from a program without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop.
        """
        request = self.request_model(model, message, output_type=output_type, **options)
        return run_blocking(cast("Coroutine[object, object, RunResult[T]]", request))

    async def resume(
        self, run_id: str, responses: Mapping[str, Response], *, execute: ToolExecutor | None = None
    ) -> RunResult[object]:
        """Resume a request whose run waits, in its conversation, if any.

        A request to a model with tools or an output type can only be resumed by the service that it was made to.

        Args:
            run_id: `run_id` of the result that the waiting run gave.
            responses: responses by the ids of its pending requests: `approve()`, `reject("why")`, or what a tool
                gave.
            execute: runs the functions of agents, as in the request.

        Raises:
            RunNotFoundError: when no request waits with the id, or not for any of these responses.
            RunConflictError: when somebody else has resumed it.
            ConversationNotFoundError: when its conversation was deleted.
            Exception: all else that `request_agent` raises. It still waits then, with what it has done since.
        """
        return await self.platform.requests.resume(run_id, responses, context=self.context(), execute=execute)

    def create_conversation(self) -> str:
        """Return an id that no conversation has. The first message begins the conversation; your own ids work too."""
        return self.platform.conversations.create()

    async def conversation(self, conversation_id: str) -> Conversation:
        """Return a copy of a conversation.

        Raises:
            ConversationNotFoundError: when the conversation does not exist.
        """
        async with self.platform.conversations.look(conversation_id) as conversation:
            return conversation.copy()

    async def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation, if it exists.

        An active run in the conversation is not disturbed; a waiting run is killed.
        """
        part = None
        with suppress(ConversationNotFoundError, StoredStateError):
            part = (await self.conversation(conversation_id)).part
        for agent in self.agents.values():
            if (chatbot := find_chatbot(self.platform, agent)) is not None:
                await chatbot.forget(conversation_id)
        await self.platform.conversations.delete(conversation_id)
        if part is not None:
            await self.platform.requests.give_up(part.run_id, self.context())

    async def insert_message(self, conversation_id: str, role: Role, content: str) -> str:
        """Add a message to a conversation; begin the conversation if it does not exist.

        An agent that is working in it sees the message in its next turn.

        Returns:
            The id of the message, for `remove_message`.

        Raises:
            ValueError: when there is no such role, or the id is no text of 1 to 200 characters.
        """
        message = create_message(role, content)
        async with self.platform.conversations.change(conversation_id, creates=True) as conversation:
            return conversation.insert(message)

    async def remove_message(self, conversation_id: str, message_id: str) -> bool:
        """Remove a message; a tool call goes with its results.

        Returns:
            True if it is gone; false if nothing was there, or if it belongs to a call that is still open.

        Raises:
            ConversationNotFoundError: when there is no such conversation.
        """
        async with self.platform.conversations.change(conversation_id) as conversation:
            return conversation.remove(message_id)

    async def truncate_conversation(self, conversation_id: str, keep_last: int) -> None:
        """Remove all but the last messages, and those that they cannot be without.

        Raises:
            ConversationNotFoundError: when the conversation does not exist.
        """
        async with self.platform.conversations.change(conversation_id) as conversation:
            conversation.truncate(keep_last)

    async def _request(
        self, agent_id: str, message: Input, options: AgentOptions, context: RunContext
    ) -> RunResult[object]:
        agent = self.platform.find_agent(agent_id)
        if (chatbot := find_chatbot(self.platform, agent)) is not None:
            return await chatbot.answer_request(message, options, context)
        instructions = None
        if isinstance(agent, Agent) and find_variables(agent.instructions):
            variables = options.get("variables") or {}
            instructions = render_variables(agent.instructions, variables, agent_id=agent_id)
        request = create_request(agent_id, message, options, instructions=instructions)
        return await self._answer(request, agent, context, options)

    async def _answer(
        self, request: Request, agent: Runnable, context: RunContext, options: RequestOptions
    ) -> RunResult[object]:
        """Answer a request, once for an idempotency key.

        Raises:
            RunConflictError: when a run has the key already.
        """
        budget, execute, key = options.get("budget"), options.get("execute"), options.get("idempotency_key")
        return await self.platform.requests.answer(request, agent, context, budget=budget, execute=execute, key=key)
