"""Exchanges of a conversation: a message that calls tools, and the results that follow it."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage


def find_last_answer(messages: Sequence[Message]) -> int | None:
    """Return the position of the last assistant message, or `None`."""
    return next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AssistantMessage)), None)


def find_open_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the tool calls of the last assistant message without a result, in order."""
    place = find_last_answer(messages)
    message = None if place is None else messages[place]
    if place is None or not isinstance(message, AssistantMessage) or not (calls := message.tool_calls):
        return ()
    answered = [result.call_id for result in messages[place + 1 :] if isinstance(result, ToolResult)]
    return tuple(call for call in calls if not _remove_id(answered, call.id))


def find_exchange(messages: Sequence[Message], place: int) -> tuple[int, int]:
    """Return the begin and the end of the exchange of a message: a call with its results."""
    begin = place
    while begin and isinstance(messages[begin], ToolResult):
        begin -= 1
    if not _calls(messages[begin]):
        return place, place + 1
    end = begin + 1
    while end < len(messages) and isinstance(messages[end], ToolResult):
        end += 1
    return begin, end


def find_excess(messages: Sequence[Message], keep_last: int, open_from: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges that a truncation removes, last range first.

    Args:
        messages: the messages of the conversation.
        keep_last: number of messages to keep, besides the system messages at the beginning.
        open_from: position of the message with open calls, which stays.
    """
    head = next((n for n, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))
    place = max(len(messages) - max(keep_last, 0), head)
    while place < len(messages) and isinstance(messages[place], ToolResult):
        place += 1
    place = min(place, open_from)
    asked = place if keep_last <= 0 and place == len(messages) else _find_request(messages, head, place)
    return (asked + 1, place), (head, asked)


def count_equal(messages: Sequence[Message], others: Sequence[Message]) -> int:
    """Return the number of equal messages at the beginning."""
    pairs = enumerate(zip(messages, others, strict=False))
    return next((n for n, (message, other) in pairs if message != other), min(len(messages), len(others)))


def _find_request(messages: Sequence[Message], head: int, place: int) -> int:
    """Return the position of the last user message at or before a position, or else the position itself."""
    if place < len(messages) and isinstance(messages[place], UserMessage):
        return place
    return next((n for n in range(place - 1, head - 1, -1) if isinstance(messages[n], UserMessage)), place)


def _calls(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and bool(message.tool_calls)


def _remove_id(ids: list[str], id: str) -> bool:
    """Remove an id, and return whether it was in the list."""
    if id not in ids:
        return False
    ids.remove(id)
    return True
