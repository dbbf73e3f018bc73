"""The events of a conversation with a model and tools."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A request is about to go to a model; `turn` counts from 1."""

    turn: int
    model: str
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReceived(Event):
    """A few more characters of an answer (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingReceived(Event):
    """A few more characters of thinking (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(Event):
    """A model answered."""

    turn: int
    response: ModelResponse
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRejected(Event):
    """The answer is not a valid object of the output type; `reason` goes back to the model."""

    attempt: int
    message: AssistantMessage
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialReceived(Event):
    """As much of a structured answer as has come (streaming runs only).

    Attributes:
        value: of a pydantic model, one that has the fields that have come; of a list, the items that have; of anything
            else, what has come as JSON values.
    """

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Event):
    """A tool has run; `result.is_error` tells whether it failed."""

    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(Event):
    """An agent hands the conversation to `target`, which will answer; `message` is what it says to it."""

    target: str
    message: str | None = None
