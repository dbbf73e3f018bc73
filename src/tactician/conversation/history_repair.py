"""Repair of conversations that providers would refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from tactician.llm import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import AssistantPart, ProviderItem, SystemMessage

NO_RESULT = "(no result)"
BEGINNING = UserMessage("Continue.")


def repair_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages, repaired where a provider would refuse them; valid messages stay unchanged.

    - Each tool call has one result, right after the message that made it. A missing result becomes an error;
      results without a call, and further results, are left out.
    - The ids of the calls are unique: a repeated id gets a number.
    - Empty messages are left out, also those with thinking only.
    - The first message after the system messages is from the user.
    """
    whole: list[Message] = []
    seen: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, ToolResult) or not _has_content(message):
            continue
        if isinstance(message, AssistantMessage) and message.tool_calls:
            whole += _pair_with_results(message, _collect_results(messages, place), seen)
        else:
            whole.append(message)
    first = next((n for n, message in enumerate(whole) if not isinstance(message, SystemMessage)), None)
    if first is not None and not isinstance(whole[first], UserMessage):
        whole.insert(first, BEGINNING)
    return tuple(whole)


def _has_content(message: Message) -> bool:
    if isinstance(message, AssistantMessage):
        return any(_is_shown(part) for part in message.parts)
    if isinstance(message, UserMessage):
        return any(not isinstance(part, Text) or part.text.strip() for part in message.parts)
    return not isinstance(message, SystemMessage) or bool(message.text.strip())


def _is_shown(part: AssistantPart) -> bool:
    return isinstance(part, ToolCall | ProviderItem) or (isinstance(part, Text) and bool(part.text.strip()))


def _collect_results(messages: Sequence[Message], place: int) -> list[ToolResult | None]:
    """Return the results before the next message of the model."""
    results: list[ToolResult | None] = []
    for n in range(place + 1, len(messages)):
        message = messages[n]
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResult):
            results.append(message)
    return results


def _pair_with_results(
    message: AssistantMessage, results: list[ToolResult | None], seen: set[str]
) -> Iterable[Message]:
    """Return the message with a result for each of its calls, in order of arrival."""
    calls = {n: part for n, part in enumerate(message.parts) if isinstance(part, ToolCall)}
    ids = {n: _make_unique(call.id, seen) for n, call in calls.items()}
    answers = sorted(
        ((_take_result(call, results), ids[n]) for n, call in calls.items()), key=lambda answer: answer[0][0]
    )
    parts = tuple(replace(calls[n], id=ids[n]) if n in calls else part for n, part in enumerate(message.parts))
    renamed = (result if result.call_id == new else replace(result, call_id=new) for (_, result), new in answers)
    return (message if parts == message.parts else replace(message, parts=parts), *renamed)


def _take_result(call: ToolCall, results: list[ToolResult | None]) -> tuple[int, ToolResult]:
    """Return the first unused result of the call, with its position."""
    for place, result in enumerate(results):
        if result is not None and result.call_id == call.id:
            results[place] = None
            return place, result
    return len(results), ToolResult(call.id, call.name, NO_RESULT, is_error=True)


def _make_unique(id: str, seen: set[str]) -> str:
    """Return the id, with a number when it is taken."""
    new = base = id or "call"
    numbers = count(2)
    while new in seen:
        new = f"{base}_{next(numbers)}"
    seen.add(new)
    return new
