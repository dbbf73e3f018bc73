"""Messages in a short form, as traces show them."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.llm.messages import AssistantMessage, Document, Image, Message, ToolResult
from tactician.text import replace_surrogates


def describe_messages(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Return messages as their role and text, with tool calls, and with pictures and documents by their kind alone."""
    return [_describe(message) for message in messages]


def find_new_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages since the last answer of a model, or all without such an answer."""
    answers = [place for place, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return messages[answers[-1] + 1 :] if answers else messages


def _describe(message: Message) -> dict[str, object]:
    described: dict[str, object] = {"role": message.role, "text": replace_surrogates(message.text)}
    if isinstance(message, AssistantMessage) and message.tool_calls:
        described["calls"] = [
            {"tool": call.name, "arguments": replace_surrogates(call.arguments)} for call in message.tool_calls
        ]
    if isinstance(message, ToolResult):
        described["tool"] = message.name
    parts = message.images if isinstance(message, ToolResult) else getattr(message, "parts", ())
    if media := [part.media_type for part in parts if isinstance(part, Image | Document)]:
        described["media"] = media
    return described
