"""Estimate of the tokens of a request before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tactician.llm.messages import AssistantMessage, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from tactician.llm.model import ModelRequest

Estimate: TypeAlias = Callable[[ModelRequest], int]
"""Function that estimates the tokens of a request; the router corrects it by the usage of the answer."""

_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_FILE = 765  # what most providers count for an image of ordinary size


def estimate_tokens(request: ModelRequest) -> int:
    """Return a quarter of the characters, plus 4 for each message and 765 for each image or document."""
    messages = request.messages
    characters = sum(map(_count_characters, messages))
    return max(1, characters // _CHARACTERS_PER_TOKEN + _TOKENS_PER_MESSAGE * len(messages))


def _count_characters(message: Message) -> int:
    if isinstance(message, ToolResult):
        return len(message.content) + sum(map(_count_part_characters, message.images))
    if isinstance(message, UserMessage):
        if isinstance(message.content, str):
            return len(message.content)
        return sum(_count_part_characters(part) for part in message.content)
    if isinstance(message, AssistantMessage):
        return sum(_count_part_characters(part) for part in message.parts)
    return len(message.text)


def _count_part_characters(part: object) -> int:
    if isinstance(part, Text | Thinking):
        return len(part.text)
    if isinstance(part, ToolCall):
        return len(part.name) + len(part.arguments)
    return _TOKENS_PER_FILE * _CHARACTERS_PER_TOKEN
