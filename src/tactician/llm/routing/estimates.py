"""How many tokens a request will take, before anybody has counted them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tactician.llm.messages import AssistantMessage, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from tactician.llm.model import ModelRequest

Estimate: TypeAlias = Callable[[ModelRequest], int]
"""Guesses the tokens of a request; the router corrects the guess once the answer tells its usage."""

_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_FILE = 765  # what most providers count for a picture of ordinary size


def estimate_tokens(request: ModelRequest) -> int:
    """A quarter of the characters, 4 for each message, 765 for each picture or document; nothing for the answer."""
    messages = request.messages
    characters = sum(map(_characters, messages))
    return max(1, characters // _CHARACTERS_PER_TOKEN + _TOKENS_PER_MESSAGE * len(messages))


def _characters(message: Message) -> int:
    if isinstance(message, ToolResult):
        return len(message.content)
    if isinstance(message, UserMessage):
        if isinstance(message.content, str):
            return len(message.content)
        return sum(_of_part(part) for part in message.content)
    if isinstance(message, AssistantMessage):
        return sum(_of_part(part) for part in message.parts)
    return len(message.text)


def _of_part(part: object) -> int:
    if isinstance(part, Text | Thinking):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.name) + len(part.arguments)
    return _TOKENS_PER_FILE * _CHARACTERS_PER_TOKEN
