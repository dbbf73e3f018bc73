"""Requests to a service, and the options that come with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from typing_extensions import TypedDict, TypeForm, TypeVar

from tactician.agents import Agent
from tactician.conversation import ChatUser
from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.llm import LlmOptions, Message
from tactician.llm.options import NO_OPTIONS
from tactician.platform.conversations.pictures import Picture, with_pictures
from tactician.runs import Budget, Input, Runnable
from tactician.runs.life.inputs import InputTypes, restore_input
from tactician.runs.progress.steps import RunStart
from tactician.runs.runnable import messages_of
from tactician.tools import DeclaredTool, Tool
from tactician.tools.declared_tool import ToolExecutor
from tactician.tools.toolbox import ToolLike

T = TypeVar("T", default=str)


class RequestOptions(TypedDict, total=False):
    """Options of any request.

    Attributes:
        conversation_id: the conversation that the message is a part of; it grows with the message and the answer.
        user: the user who asks. A conversation that a user begins is not found by others.
        history: earlier messages, for callers who keep that themselves.
        images: pictures beside the message: images, bytes, base64 or URLs.
        budget: how much the request and all that it leads to may use.
        execute: runs the functions that the agent declares, also if the caller executes them otherwise; not the
            functions of agents to which it hands over.
        idempotency_key: key of the run that answers. A request with a key that was used before is a
            `RunConflictError`: nothing is sent or answered twice.
    """

    conversation_id: str | None
    user: ChatUser | None
    history: Sequence[Message]
    images: Sequence[Picture]
    budget: Budget | None
    execute: ToolExecutor | None
    idempotency_key: str | None


@frozen
class Request:
    """Request as it is kept with its run.

    Attributes:
        agent: the id of who is to answer.
        messages: what is new.
        history: earlier messages, where that is not a conversation of the service.
        conversation: the id of the conversation.
        instructions: the agent's instructions, with values in the place of their variables.
        model: options of the model, when the model itself is asked, which no registered agent stands for.
        is_bound: true when only the service that got the request can continue it: it has tools or a type that are not
            kept.
        user: the user who asks.
    """

    agent: str
    messages: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    conversation: str | None = None
    instructions: str | None = None
    model: LlmOptions | None = None
    is_bound: bool = False
    user: ChatUser | None = None

    @property
    def user_id(self) -> str | None:
        """Id of the user who asks; `None` when the program does."""
        return None if self.user is None else self.user.id

    @classmethod
    def of(cls, input: Input) -> Request:
        """Return the request that a run was started with.

        Raises:
            StoredStateError: when that is something else.
        """
        if isinstance(input, cls):
            return input
        raise StoredStateError(f"The run was started with no request: {type(input).__name__}")

    @classmethod
    def restore(cls, start: RunStart) -> Request:
        """Return the request in the stored beginning of a run.

        Raises:
            StoredStateError: when it cannot be read.
        """
        return cls.of(restore_input(start["input"], REQUEST_TYPES))


REQUEST_TYPES: Final = InputTypes((Request,))


def create_request(
    agent: str,
    message: Input,
    options: RequestOptions,
    *,
    instructions: str | None = None,
    model: LlmOptions | None = None,
    is_bound: bool = False,
) -> Request:
    """Return the request that a caller makes.

    Raises:
        ValueError: when a picture is none, or there is a conversation and a history.
    """
    conversation, history = options.get("conversation_id"), tuple(options.get("history") or ())
    if conversation is not None and history:
        raise ValueError("A request has a conversation_id or a history: the conversation is the history.")
    messages = with_pictures(messages_of(message), options.get("images") or ())
    return Request(agent, messages, history, conversation, instructions, model, is_bound, options.get("user"))


def create_model_agent(
    request: Request, tools: Sequence[ToolLike] = (), output_type: TypeForm[T] | None = None
) -> Agent[T]:
    """Return the agent that stands for the model that a request asks."""
    return Agent(
        request.agent,
        id=request.agent,
        model=request.model,
        instructions=request.instructions or "",
        tools=tools,
        output_type=output_type,
    )


def prepare_agent(agent: Runnable, request: Request, execute: ToolExecutor | None) -> Runnable:
    """Return the agent for a request: itself, unless the request changes something."""
    if not isinstance(agent, Agent):
        return agent
    options = NO_OPTIONS if request.conversation is None else LlmOptions(session=request.conversation)
    if request.instructions is None and execute is None and options is NO_OPTIONS:
        return agent
    return agent.with_changes(
        instructions=request.instructions,
        options=options,
        tools=None if execute is None else lambda tool: _with_executor(tool, execute),
    )


def _with_executor(tool: Tool, execute: ToolExecutor) -> Tool:
    return tool.with_executor(execute) if isinstance(tool, DeclaredTool) else tool
