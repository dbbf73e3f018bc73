"""What belongs together in a conversation: a message that calls tools, and the results that follow it."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult


def last_answer(messages: Sequence[Message]) -> int | None:
    """Where the last assistant message is."""
    return next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AssistantMessage)), None)


def open_calls_of(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The tool calls of the last assistant message that have no result after it, in order."""
    place = last_answer(messages)
    message = None if place is None else messages[place]
    if place is None or not isinstance(message, AssistantMessage) or not (calls := message.tool_calls):
        return ()
    answered = [one.call_id for one in messages[place + 1 :] if isinstance(one, ToolResult)]
    return tuple(call for call in calls if not _taken(answered, call.id))


def exchange_around(messages: Sequence[Message], place: int) -> tuple[int, int]:
    """Where the message at the place begins and ends: with its results, or with the call whose result it is."""
    begin = place
    while begin and isinstance(messages[begin], ToolResult):
        begin -= 1
    if not _calls(messages[begin]):
        return place, place + 1
    end = begin + 1
    while end < len(messages) and isinstance(messages[end], ToolResult):
        end += 1
    return begin, end


def _calls(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and bool(message.tool_calls)


def _taken(ids: list[str], id: str) -> bool:
    """Whether the id was there; once for each time that it was."""
    if id not in ids:
        return False
    ids.remove(id)
    return True
