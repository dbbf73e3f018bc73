"""Runs in conversations, of Runnables that work on messages and give an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tactician.conversation import Conversation
from tactician.llm import AssistantMessage, Message, Text
from tactician.runs import Input, RunContext, RunResult, messages_of
from tactician.tools import as_text

T = TypeVar("T")


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
    conversation.append(AssistantMessage((Text(as_text(result.output)),)))
    return result


def join_input(conversation: Conversation, input: Input, context: RunContext) -> tuple[Message, ...]:
    """Return the messages of a conversation with those of the input behind them.

    What an interrupted attempt of the same run has added leaves the conversation.
    """
    if conversation.find_part(context.root_id) is not None:
        conversation.restore_part(())
    return (*conversation.messages, *messages_of(input))
