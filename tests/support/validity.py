"""Which conversations every provider takes as they are: the rules that `anthropic_message_rules`, `chat_rules` and
`responses_rules` have in common, on our own messages. Written apart from what it checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from tactician.llm import AssistantMessage, Message, ModelRequest, Text, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import ProviderItem, SystemMessage
from tactician.llm.wire import anthropic_messages, openai_chat, openai_responses
from tests.support.anthropic_message_rules import check_messages
from tests.support.chat_rules import OPENAI
from tests.support.responses_rules import check_responses
from tests.support.rules import require


def check_valid(messages: Sequence[Message], *, begins_with_user: bool = True) -> None:
    """Raises `Refused` when a provider may refuse the conversation as it is."""
    spoken = [message for message in messages if not isinstance(message, SystemMessage)]
    if begins_with_user and spoken:
        require(isinstance(spoken[0], UserMessage), "the first message must be the user's")
    waiting: list[str] = []
    used: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, ToolResult):
            require(message.call_id in waiting, f"{place}: a result without a call before it")
            waiting.remove(message.call_id)
            continue
        require(not waiting, f"{place}: calls without a result: {waiting}")
        require(_says_something(message), f"{place}: an empty message")
        waiting = [part.id for part in _parts(message) if isinstance(part, ToolCall)]
        require(all(waiting), f"{place}: a call without an id")
        require(len({*waiting}) == len(waiting) and not used & {*waiting}, f"{place}: an id is used twice")
        used.update(waiting)
    require(not waiting, f"calls without a result at the end: {waiting}")


def check_sent(messages: Sequence[Message]) -> None:
    """Raises `Refused` when one of the strict providers would refuse the conversation as we send it."""
    request = ModelRequest((*messages,))
    OPENAI("gpt-4o", openai_chat.encode(request, "gpt-4o"))
    check_responses("gpt-5.4", openai_responses.encode(request, "gpt-5.4"))
    check_messages(anthropic_messages.encode(request, "claude-sonnet-5"), prefill=False)


def _parts(message: Message) -> Sequence[object]:
    if isinstance(message, AssistantMessage | UserMessage):
        return message.parts
    assert isinstance(message, SystemMessage)
    return (Text(message.text),)


def _says_something(message: Message) -> bool:
    for part in _parts(message):
        if isinstance(part, Text) and part.text.strip():
            return True
        if isinstance(part, ToolCall | ProviderItem) or (
            isinstance(message, UserMessage) and not isinstance(part, Text)
        ):
            return True
    return False
