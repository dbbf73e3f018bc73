"""Runs in conversations, of Runnables that work on messages and give an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tactician.conversation import Conversation
from tactician.errors import ConfigurationError
from tactician.llm import AssistantMessage, Message, Text
from tactician.runs import Input, RunContext, RunResult
from tactician.runs.runnable import messages_of
from tactician.tools.tool import describe_result

T = TypeVar("T")


def check_conversation(conversation: object) -> None:
    """Check the conversation of a run, such as its id that somebody passes in its place.

    Raises:
        ConfigurationError: when it is something else.
    """
    if conversation is not None and not isinstance(conversation, Conversation):
        raise ConfigurationError(
            f"conversation is {conversation!r}; write conversation=Conversation(), or ask an AgentService, which has "
            "conversations by their ids"
        )


async def run_in_conversation(
    work: Callable[[Input, RunContext], Awaitable[RunResult[T]]],
    conversation: Conversation,
    input: Input,
    context: RunContext,
) -> RunResult[T]:
    """Do the work on a conversation with the input behind it, and add the input and the answer to the conversation.

    A run that fails adds nothing.
    """
    result = await work(join_input(conversation, input, context), context)
    conversation.extend(messages_of(input))
    conversation.append(AssistantMessage((Text(describe_result(result.output)),)))
    return result


def join_input(conversation: Conversation, input: Input, context: RunContext) -> tuple[Message, ...]:
    """Return the messages of a conversation, followed by the messages of the input.

    What an interrupted attempt of the same run has added leaves the conversation.
    """
    if conversation.find_part(context.root_id) is not None:
        conversation.restore_part(())
    return (*conversation.messages, *messages_of(input))
