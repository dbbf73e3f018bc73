"""Conversations without some of their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tactician.llm.messages import AssistantMessage, AssistantPart, Message
from tactician.llm.model import ModelRequest


def without_parts(request: ModelRequest, refused: Callable[[AssistantPart], bool]) -> ModelRequest | None:
    """The request without the refused parts of the model's answers; `None` when there are none."""

    def kept(message: Message) -> Message:
        if not isinstance(message, AssistantMessage) or not any(map(refused, message.parts)):
            return message
        return AssistantMessage(tuple(part for part in message.parts if not refused(part)))

    messages = tuple(map(kept, request.messages))
    return None if messages == request.messages else replace(request, messages=messages)
