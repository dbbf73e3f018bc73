"""Transcript of a conversation, for a model that summarizes it."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.llm import AssistantMessage, Document, Message, Text, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import UserPart

_MAX_CHARACTERS = 4_000
_CUT = " [...] "


def format_transcript(messages: Iterable[Message]) -> str:
    """Return a paragraph for each message, with long texts shortened and images only mentioned."""
    return "\n\n".join(filter(None, map(_format_paragraph, messages)))


def _format_paragraph(message: Message) -> str:
    if isinstance(message, ToolResult):
        kind = "Error" if message.is_error else "Result"
        return f"{kind} of {message.name}: {_shorten(message.content)}"
    if isinstance(message, UserMessage):
        return f"User: {_shorten(' '.join(map(_format_part, message.parts)))}"
    if isinstance(message, AssistantMessage):
        lines = [f"Assistant: {_shorten(message.text)}"] if message.text else []
        return "\n".join([*lines, *map(_format_call, message.tool_calls)])
    return f"System: {_shorten(message.text)}"


def _format_call(call: ToolCall) -> str:
    return f"Assistant calls {call.name}({_shorten(call.arguments)})"


def _format_part(part: UserPart) -> str:
    if isinstance(part, Text):
        return part.text
    return f"[document {part.name}]" if isinstance(part, Document) else "[picture]"


def _shorten(text: str) -> str:
    half = _MAX_CHARACTERS // 2
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:half]}{_CUT}{text[-half:]}"
