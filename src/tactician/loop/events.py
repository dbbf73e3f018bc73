"""Events of the turn loop."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """Event before a request to a model; `turn` counts from 1."""

    turn: int
    model: str
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceReceived(Event):
    """Base class of the events of a piece of an answer (streaming runs only).

    Attributes:
        answer_level: index in `path` of the outermost run whose answer the piece is part of: 0 for an answer to the
            caller, more for the text of classifiers, workers, managers, actions and guardrails.
    """

    answer_level: int = 0

    @property
    def is_internal(self) -> bool:
        """True for a piece of something that is not the answer of the outermost run."""
        return self.answer_level > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReceived(PieceReceived):
    """Event of more characters of an answer (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingReceived(PieceReceived):
    """Event of more characters of thinking (streaming runs only)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(Event):
    """Event of a complete answer of a model."""

    turn: int
    response: ModelResponse
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRejected(Event):
    """Event of an answer that is not a valid object of the output type; `reason` goes back to the model."""

    attempt: int
    message: AssistantMessage
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialReceived(PieceReceived):
    """Event of a partial structured answer (streaming runs only).

    Attributes:
        value: of a pydantic model, one that has the fields that have come; of a list, the items that have; of anything
            else, what has come as JSON values.
    """

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """Event before a tool runs."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Event):
    """Event of a tool result; `result.is_error` is true when the tool failed."""

    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOff(Event):
    """Event of an agent that hands the conversation to `target`; `message` is its message to the target."""

    target: str
    message: str | None = None
