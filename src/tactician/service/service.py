"""`AgentService`: agents by id, conversations by id."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import cast

from typing_extensions import TypeVar, Unpack

from tactician.agents import Agent
from tactician.clock import SYSTEM_CLOCK
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConversationNotFoundError, StoredStateError
from tactician.events import Event, EventBus, EventListener
from tactician.llm import LanguageModel, ModelSource, default_models, source_of
from tactician.prompts import rendered, variables_of
from tactician.runs import (
    DEFAULT_LEASE,
    ForkOptions,
    Input,
    Response,
    RunContext,
    Runnable,
    RunRecord,
    RunResult,
    Services,
    run_blocking,
    stream_events,
)
from tactician.service.answering import RUN_NAME, Answering
from tactician.service.conversations import Conversations, Role, message_from
from tactician.service.media import MediaService
from tactician.service.names import AgentFileNames
from tactician.service.registry import ServiceRegistry
from tactician.service.requests import AgentOptions, ModelOptions, create_model_agent, model_options, request_for
from tactician.stores import DocumentStore, Lease, MemoryStore
from tactician.tools import ToolExecutor, ToolGroup, ToolGroups, ToolLike

T = TypeVar("T", default=str)
_NOTHING: Mapping[str, object] = MappingProxyType({})


class AgentService(MediaService):
    """Agents by id and conversations by id: what a program needs that serves many users.

    Args:
        models: a router, another source of models, or one model for everything; those of the environment by default.
        folder: where JSON files describe agents, one in each; `reload` reads them again.
        names: what these files may name: classes and functions by name.
        packages: modules whose public classes and functions these files may name too, such as `acme.tools`.
        store: store of conversations and of the runs that answer requests, which are saved after each step; by default,
            conversations and runs that wait are in memory.
        on_event: called with every event of every request.
        tool_groups: groups of tools that agents may name.

    Raises:
        AgentFileError: with every mistake in all files of the folder.
        ImportError: when a package cannot be imported.
    """

    def __init__(
        self,
        models: ModelSource | LanguageModel | None = None,
        *,
        folder: str | Path | None = None,
        names: Mapping[str, object] = _NOTHING,
        packages: Sequence[str] = (),
        store: DocumentStore | None = None,
        on_event: EventListener | None = None,
        tool_groups: Iterable[ToolGroup] = (),
    ) -> None:
        super().__init__(default_models() if models is None else source_of(models))
        self._registry = ServiceRegistry(
            self._models, None if folder is None else Path(folder), AgentFileNames(names, packages)
        )
        self._run_services = Services(
            self._models,
            MemoryStore() if store is None else store,
            SYSTEM_CLOCK,
            EventBus(on_event),
            ToolGroups(tool_groups),
            is_durable=store is not None,
        )
        self._conversations = Conversations(ConversationStore(self.store))
        self._answering = Answering(self._conversations, self._registry.find)

    @property
    def agents(self) -> Mapping[str, Runnable]:
        """What is registered, by id."""
        return self._registry.agents

    retention: timedelta | None = None
    """Age at which workers delete requests that were answered; they stay by default."""

    @property
    def run_names(self) -> tuple[str, ...]:
        """The names of all runs that can be continued here: the one of those that answer requests."""
        return (RUN_NAME,)

    @property
    def store(self) -> DocumentStore:
        """Store of conversations and runs."""
        return self._run_services.store

    def context(self) -> RunContext:
        """A context for runs beside the service, with its models: `await agent.run(..., context=service.context())`."""
        return RunContext(self._run_services)

    def register(self, *agents: object, replace: bool = False) -> AgentService:
        """Registers Runnables and instances of `@planned_agent` classes, by their `id`, else their name in snake case.

        Args:
            replace: whether an agent takes the place of one with its id. What that one has begun it goes on with.

        Returns:
            The service.

        Raises:
            DeclarationError: when one is no Runnable or its id is taken; with every mistake of all of them. Then none
                is registered.
        """
        self._registry.register(agents, replace=replace)
        return self

    def unregister(self, agent_id: str) -> None:
        """Forgets an agent. What it has begun it goes on with.

        Raises:
            AgentNotFoundError: when there is none.
        """
        self._registry.unregister(agent_id)

    def reload(self) -> tuple[str, ...]:
        """Reads the folder again: what is new is registered, what is gone is forgotten. On a mistake nothing changes.

        Returns:
            The ids of the folder's agents.

        Raises:
            AgentFileError: with every mistake in all files.
            ConfigurationError: when the service has no folder.
        """
        return self._registry.reload()

    def update_tools(self, agent_id: str, tools: Sequence[ToolLike]) -> int:
        """Gives a registered agent other tools. Requests that it is answering have them from their next turn on.

        Returns:
            How many requests these are.

        Raises:
            AgentNotFoundError: when there is no such `Agent`.
            DeclarationError: when a tool is not declared correctly; then nothing changes.
        """
        self._registry.agent(agent_id).replace_tools(tools)
        return self._answering.going[agent_id]

    async def request_agent(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> RunResult[object]:
        """An agent's answer.

        Args:
            agent_id: its id; or the name of a model, with `-websearch` or `-codeinterpreter` behind it if need be.
            message: what is said to it.
            options: see `AgentOptions`.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            AgentNotFoundError: when there is neither such an agent nor such a model.
            ConversationNotFoundError: when there is no such conversation.
            RunConflictError: when the conversation waits for another run.
            ConversationConflictError: when another process has changed the conversation meanwhile.
            MissingPromptVariable: when a variable of the instructions has no value.
            ValueError: when a picture is none, or there is a conversation and a history.
            RunError: when it fails; the error holds what was done so far.
            ModelError: when a model cannot be called.
        """
        return await self._request(agent_id, message, options, self.context())

    def request_agent_sync(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> RunResult[object]:
        """`request_agent`, for programs without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop.
        """
        return run_blocking(self.request_agent(agent_id, message, **options))

    def stream_agent(self, agent_id: str, message: Input, **options: Unpack[AgentOptions]) -> AsyncGenerator[Event]:
        """The events of a request to an agent, the answer in pieces; the last one is `RunCompleted`."""
        return stream_events(lambda heard: self._request(agent_id, message, options, heard), self.context())

    async def request_model(
        self, model: str, message: Input, *, output_type: type[T] | None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[T]:
        """A model's answer, without an agent.

        Args:
            model: its name.
            message: what is said to it.
            output_type: what the answer has to be; text by default.
            options: see `ModelOptions`.

        Raises:
            ConfigurationError: when there is no such model.
            Exception: all else that `request_agent` raises.
        """
        tools = options.get("tools") or ()
        request = request_for(
            model,
            message,
            options,
            instructions=options.get("instructions"),
            model=model_options(model, options),
            is_bound=bool(tools) or output_type is not None,
        )
        agent = create_model_agent(request, tools, output_type)
        result = await self._answering.answer(
            request, agent, self.context(), budget=options.get("budget"), execute=options.get("execute")
        )
        return cast("RunResult[T]", result)  # it is what the agent gives

    def request_model_sync(
        self, model: str, message: Input, *, output_type: type[T] | None = None, **options: Unpack[ModelOptions]
    ) -> RunResult[T]:
        """`request_model`, for programs without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop.
        """
        return run_blocking(self.request_model(model, message, output_type=output_type, **options))

    async def resume(
        self, run_id: str, responses: Mapping[str, Response], *, execute: ToolExecutor | None = None
    ) -> RunResult[object]:
        """Resume a request whose run waits, in its conversation if it has one.

        A request to a model with tools or an output type can only be resumed by the service that it was made to.

        Args:
            run_id: `run_id` of the result that the waiting run gave.
            responses: what it is told, by the ids of its pending requests: `approve()`, `reject("why")`, or what a tool
                gave.
            execute: runs the functions of agents, as in the request.

        Raises:
            RunNotFoundError: when no request waits with the id, or not for one of these responses.
            RunConflictError: when somebody else has resumed it.
            ConversationNotFoundError: when its conversation was deleted.
            Exception: all else that `request_agent` raises. It still waits then, with what it has done since.
        """
        return await self._answering.resume(run_id, responses, self.context(), execute)

    async def fork(
        self,
        run_id: str,
        *,
        at: int | None = None,
        model: str | None = None,
        message: Input = None,
        responses: Mapping[str, Response] = _NOTHING,
    ) -> RunResult[object]:
        """Answer a request once more, from a past step of its run. The run stays as it is.

        A request in a conversation is answered in a copy of the conversation, as that was before the request.

        Args:
            run_id: `run_id` of the result of the request.
            at: number of the step after which the fork begins; 0 is the start. By default the last step; with another
                message, the start; with answers, the last step after which the run waited for them.
            model: name of the model that the fork uses wherever it calls one, whatever its agents name.
            message: another message, for a fork from the start; the same one by default.
            responses: answers to requests for which the run waited after that step, by the ids of the requests.

        Raises:
            ConfigurationError: when the service has no store, or there is no such step or model; for another message
                after the start.
            RunNotFoundError: when no request has such a run.
            ResponseError: when the run did not wait for one of the answers after that step.
            RunConflictError: when the request is no longer in its conversation.
            Exception: all else that `request_agent` raises.
        """
        options = ForkOptions(at=at, model=model, input=message, responses=responses)
        return await self._answering.fork(run_id, options, self.context())

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> RunResult[object]:
        """Continue a request that a worker has claimed, as far as it can go; see `Worker`.

        Raises:
            AgentNotFoundError: when its agent is not registered here.
            ConversationNotFoundError: when its conversation was deleted.
            RunConflictError: when another run goes on in its conversation.
            StoredStateError: when what is kept cannot be read.
            LeaseLostError: when another worker has claimed it.
        """
        return await self._answering.continue_claimed(record, lease, self.context(), seconds)

    async def step_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> RunResult[object]:
        """Continue a request that an engine such as Temporal has claimed: one step goes as far as it can.

        Raises:
            Exception: all that `continue_claimed` raises.
        """
        return await self.continue_claimed(record, lease, seconds=seconds)

    def create_conversation(self) -> str:
        """The id of a new conversation."""
        return self._conversations.create()

    async def conversation(self, conversation_id: str) -> Conversation:
        """What has been said in a conversation so far; a copy.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._conversations.look(conversation_id) as conversation:
            return conversation.copy()

    async def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation, if there is one. A run that is going on in it is not disturbed; one that waits is
        killed."""
        part = None
        with suppress(ConversationNotFoundError, StoredStateError):
            part = (await self.conversation(conversation_id)).part
        await self._conversations.delete(conversation_id)
        if part is not None:
            await self._answering.give_up(part.run_id, self.context())

    async def insert_message(self, conversation_id: str, role: Role, content: str) -> str:
        """Adds a message to a conversation. An agent that is working in it sees it in its next turn.

        Returns:
            The id of the message, for `remove_message`.

        Raises:
            ConversationNotFoundError: when there is none.
            ValueError: when there is no such role.
        """
        message = message_from(role, content)
        async with self._conversations.change(conversation_id) as conversation:
            return conversation.insert(message)

    async def remove_message(self, conversation_id: str, message_id: str) -> bool:
        """Removes a message; a tool call goes with its results.

        Returns:
            Whether it is gone: not so when there is none, or when it belongs to a call that is still open.

        Raises:
            ConversationNotFoundError: when there is no such conversation.
        """
        async with self._conversations.change(conversation_id) as conversation:
            return conversation.remove(message_id)

    async def truncate_conversation(self, conversation_id: str, keep_last: int) -> None:
        """Removes all but the last messages, and those that they cannot be without.

        Raises:
            ConversationNotFoundError: when there is none.
        """
        async with self._conversations.change(conversation_id) as conversation:
            conversation.truncate(keep_last)

    async def _request(
        self, agent_id: str, message: Input, options: AgentOptions, context: RunContext
    ) -> RunResult[object]:
        agent = self._registry.find(agent_id)
        instructions = None
        if isinstance(agent, Agent) and variables_of(agent.instructions):
            variables = options.get("variables") or {}
            instructions = rendered(agent.instructions, variables, agent_id=agent_id)
        request = request_for(agent_id, message, options, instructions=instructions)
        return await self._answering.answer(
            request, agent, context, budget=options.get("budget"), execute=options.get("execute")
        )
