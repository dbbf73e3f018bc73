"""Messages of models as they come: text, reasoning, and calls of tools with their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from tactician.events.event import new_id
from tactician.llm import ToolCall, ToolResult


@dataclass(slots=True)
class _Block:
    """Open text or reasoning of a model."""

    kind: Literal["text", "reasoning"]
    id: str
    owner: str | None


class OpenMessages:
    """Open messages of a run of a client: several models may answer at a time."""

    def __init__(self) -> None:
        self._open: dict[str, _Block] = {}

    def add_text(self, run_id: str, message_id: str, owner: str | None, text: str) -> Iterator[BaseEvent]:
        """Yield the events of more text of the model of a run."""
        yield from self._open_block(run_id, _Block("text", message_id, owner))
        yield TextMessageContentEvent(message_id=message_id, delta=text, subagent_run_id=owner)

    def add_reasoning(self, run_id: str, owner: str | None, text: str) -> Iterator[BaseEvent]:
        """Yield the events of more reasoning of the model of a run."""
        open_message = self._open.get(run_id)
        block = (
            open_message
            if open_message is not None and open_message.kind == "reasoning"
            else _Block("reasoning", new_id(), owner)
        )
        yield from self._open_block(run_id, block)
        yield ReasoningMessageContentEvent(message_id=block.id, delta=text, subagent_run_id=block.owner)

    def close(self, run_id: str) -> Iterator[BaseEvent]:
        """Yield the events that end what the model of a run was writing."""
        if (block := self._open.pop(run_id, None)) is not None:
            yield from _end(block)

    def close_all(self) -> Iterator[BaseEvent]:
        """Yield the events that end all that models were writing."""
        for run_id in tuple(self._open):
            yield from self.close(run_id)

    def _open_block(self, run_id: str, block: _Block) -> Iterator[BaseEvent]:
        open_message = self._open.get(run_id)
        if open_message is not None and (open_message.kind, open_message.id) == (block.kind, block.id):
            return
        yield from self.close(run_id)
        self._open[run_id] = block
        yield from _start(block)


def write_text(text: str, owner: str | None = None) -> Iterator[BaseEvent]:
    """Yield the events of a whole message."""
    block = _Block("text", new_id(), owner)
    yield from _start(block)
    yield TextMessageContentEvent(message_id=block.id, delta=text, subagent_run_id=owner)
    yield from _end(block)


def write_call(call: ToolCall, call_id: str, message_id: str | None, owner: str | None) -> Iterator[BaseEvent]:
    """Yield the events of a call of a tool, with its arguments."""
    yield ToolCallStartEvent(
        tool_call_id=call_id, tool_call_name=call.name, parent_message_id=message_id, subagent_run_id=owner
    )
    yield ToolCallArgsEvent(tool_call_id=call_id, delta=call.arguments or "{}", subagent_run_id=owner)
    yield ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=owner)


def write_result(result: ToolResult, call_id: str, owner: str | None) -> BaseEvent:
    """Return the event of the result of a tool."""
    return ToolCallResultEvent(message_id=new_id(), tool_call_id=call_id, content=result.content, subagent_run_id=owner)


def _start(block: _Block) -> Iterator[BaseEvent]:
    if block.kind == "text":
        yield TextMessageStartEvent(message_id=block.id, role="assistant", subagent_run_id=block.owner)
        return
    yield ReasoningStartEvent(message_id=block.id, subagent_run_id=block.owner)
    yield ReasoningMessageStartEvent(message_id=block.id, subagent_run_id=block.owner)


def _end(block: _Block) -> Iterator[BaseEvent]:
    if block.kind == "text":
        yield TextMessageEndEvent(message_id=block.id, subagent_run_id=block.owner)
        return
    yield ReasoningMessageEndEvent(message_id=block.id, subagent_run_id=block.owner)
    yield ReasoningEndEvent(message_id=block.id, subagent_run_id=block.owner)
