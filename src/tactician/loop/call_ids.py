"""Ids of the tool calls of a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from tactician.llm import AssistantMessage, Message, ToolCall
from tactician.llm.messages import AssistantPart


class CallIds:
    """Ids that the tool calls of a conversation have so far.

    Approvals, checkpoints and idempotency keys belong to a single call, but some models repeat ids.

    Args:
        messages: the messages so far.
        forgotten: ids of calls whose messages were removed.
    """

    __slots__ = ("_ids",)

    def __init__(self, messages: Iterable[Message], forgotten: Iterable[str] = ()) -> None:
        self._ids = {"", *forgotten}
        for message in messages:
            if isinstance(message, AssistantMessage):
                self._ids.update(call.id for call in message.tool_calls)

    def to_list(self) -> list[str]:
        """Return the ids, sorted."""
        return sorted(self._ids)

    def distinguish(self, message: AssistantMessage) -> AssistantMessage:
        """Return a new message whose calls have ids that no earlier call has."""
        ids = [call.id for call in message.tool_calls]
        if self._ids.isdisjoint(ids) and len(set(ids)) == len(ids):
            self._ids.update(ids)
            return message
        parts: list[AssistantPart] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                part = self._rename(part)
            parts.append(part)
        return AssistantMessage(tuple(parts))

    def _rename(self, call: ToolCall) -> ToolCall:
        """Return the call with its own id if that is new, else with a number after it."""
        if call.id in self._ids:
            base = call.id or "call"
            new_id = next(name for number in count(2) if (name := f"{base}_{number}") not in self._ids)
            call = replace(call, id=new_id)
        self._ids.add(call.id)
        return call
