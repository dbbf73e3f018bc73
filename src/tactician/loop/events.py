"""Events of the turn loop."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import ClassVar

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, ToolCall, ToolResult
from tactician.llm.transcript import describe_messages, find_new_messages


@frozen(kw_only=True)
class TurnEvent(Event):
    """Base class of the events of a turn; `turn` counts from 1."""

    turn: int

    @property
    def span_key(self) -> str:
        """The number of the turn."""
        return str(self.turn)


@frozen(kw_only=True)
class TurnStarted(TurnEvent):
    """Event before a request to a model.

    Attributes:
        is_checked: true when a guardrail or a person may refuse or change the answer, so that it is not for readers.
    """

    opens: ClassVar[str | None] = SpanKind.MODEL
    content_fields: ClassVar[tuple[str, ...]] = ("request.messages", "request.tools")

    model: str
    request: ModelRequest
    is_checked: bool = False

    def describe(self) -> str:
        """Return which model is asked."""
        return f"turn {self.turn} asks {self.model}"

    def describe_span(self) -> SpanFacts:
        """Return the model, and what it is told now; as the whole content, the conversation and the tools."""
        messages, tools = self.request.messages, [spec.name for spec in self.request.tools]
        new_text, all_told = describe_messages(find_new_messages(messages)), describe_messages(messages)
        whole = {"messages": all_told, "tools": tools, "options": self.request.options}
        return SpanFacts(self.model, facts={"turn": self.turn}, content={"prompt": new_text}, whole_content=whole)

    def abbreviate(self) -> TurnStarted:
        """Return the event with the messages that are new to the model: a long run repeats all others in each turn."""
        if self.turn == 1:
            return self
        messages = tuple(find_new_messages(self.request.messages))
        return replace(self, request=replace(self.request, messages=messages, tools=()))


@frozen(kw_only=True)
class PieceReceived(Event):
    """Base class of the events of a piece of an answer (streaming runs only).

    Attributes:
        answer_level: index in `path` of the outermost run whose answer the piece is part of: 0 for an answer to the
            caller, more for the text of classifiers, workers, managers, actions and guardrails, and for text that
            is held because a guardrail, a reviewer or a repetition may take its place.
    """

    is_recorded: ClassVar[bool] = False

    answer_level: int = 0

    @property
    def is_internal(self) -> bool:
        """True for a piece of something that is not the answer of the outermost run."""
        return self.answer_level > 0


@frozen(kw_only=True)
class TextReceived(PieceReceived):
    """Event of more characters of an answer (streaming runs only)."""

    content_fields: ClassVar[tuple[str, ...]] = ("text",)

    text: str


@frozen(kw_only=True)
class ThinkingReceived(PieceReceived):
    """Event of more characters of thinking (streaming runs only)."""

    content_fields: ClassVar[tuple[str, ...]] = ("text",)

    text: str


@frozen(kw_only=True)
class TurnCompleted(TurnEvent):
    """Event of a complete answer of a model."""

    closes: ClassVar[str | None] = SpanKind.MODEL
    content_fields: ClassVar[tuple[str, ...]] = ("response.message.parts",)

    response: ModelResponse
    seconds: float

    def describe_span(self) -> SpanFacts:
        """Return what the model answered and used."""
        response = self.response
        facts = {"usage": response.usage, "finish_reason": response.finish_reason, "answered_by": response.model}
        return SpanFacts(facts=facts, content={"answer": describe_messages([response.message])})

    def describe(self) -> str:
        """Return which model answered, and what that used."""
        used, model = self.response.usage, self.response.usage.model or self.response.model or "the model"
        return (
            f"{model} answers, {self.seconds:.2f} s, "
            f"{format_count(used.input_tokens, 'token')} in, {used.output_tokens} out"
        )


@frozen(kw_only=True)
class TurnFailed(TurnEvent):
    """Event of a call of a model that raised `error`."""

    usual_level: ClassVar[int] = logging.WARNING
    closes: ClassVar[str | None] = SpanKind.MODEL

    model: str
    seconds: float
    error: str

    def describe_span(self) -> SpanFacts:
        """Return why there is no answer."""
        return SpanFacts(status="failed", error=self.error)

    def describe(self) -> str:
        """Return why there is no answer."""
        return f"{self.model} failed after {self.seconds:.2f} s: {self.error}"


@frozen(kw_only=True)
class OutputRejected(Event):
    """Event of an answer that is not a valid object of the output type; `reason` goes back to the model."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("message.parts", "reason")

    attempt: int
    message: AssistantMessage
    reason: str

    def describe(self) -> str:
        """Return that the answer is not valid."""
        return f"answer {self.attempt} is not valid"


@frozen(kw_only=True)
class PartialReceived(PieceReceived):
    """Event of a partial structured answer (streaming runs only), whenever that has grown by a 64th.

    Attributes:
        value: for a pydantic model, the model with the fields so far; for a list, the items so far; for anything
            else, the JSON values so far.
    """

    content_fields: ClassVar[tuple[str, ...]] = ("value",)

    value: object


@frozen(kw_only=True)
class ToolEvent(Event):
    """Base class of the events of a tool call."""

    call: ToolCall

    @property
    def span_key(self) -> str:
        """The id of the call."""
        return self.call.id


@frozen(kw_only=True)
class ToolCalled(ToolEvent):
    """Event before a tool runs."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("call.arguments",)

    opens: ClassVar[str | None] = SpanKind.TOOL

    def describe(self) -> str:
        """Return which tool is called."""
        return f"calls {self.call.name}"

    def describe_span(self) -> SpanFacts:
        """Return the tool and its arguments."""
        return SpanFacts(self.call.name, content={"arguments": self.call.arguments})


@frozen(kw_only=True)
class ToolReturned(ToolEvent):
    """Event of a tool result; `result.is_error` is true when the tool failed."""

    closes: ClassVar[str | None] = SpanKind.TOOL
    content_fields: ClassVar[tuple[str, ...]] = ("call.arguments", "result.content", "result.images")

    result: ToolResult
    seconds: float

    def describe_span(self) -> SpanFacts:
        """Return the result."""
        return SpanFacts(status="failed" if self.result.is_error else "", content={"result": self.result.content})

    @property
    def level(self) -> int:
        """Level `WARNING` of a tool that failed, else `INFO`."""
        return logging.WARNING if self.result.is_error else logging.INFO

    def describe(self) -> str:
        """Return which tool ended, and whether it failed."""
        return f"{self.call.name} {'failed' if self.result.is_error else 'is done'}, {self.seconds:.2f} s"


@frozen(kw_only=True)
class ToolAnswered(ToolEvent):
    """Event of a tool call that was not run, as a person rejected it or gave the result in its place."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("call.arguments", "result.content", "result.images")

    result: ToolResult

    def describe(self) -> str:
        """Return which tool was not run."""
        return f"{self.call.name} was not run: {'rejected' if self.result.is_error else 'a person gave the result'}"


@frozen(kw_only=True)
class ToolRefused(ToolEvent):
    """Event of a tool call that was not run, as it would break `rules`."""

    usual_level: ClassVar[int] = logging.WARNING
    content_fields: ClassVar[tuple[str, ...]] = ("call.arguments",)

    rules: tuple[str, ...]

    def describe(self) -> str:
        """Return which tool was not run, and why."""
        return f"{self.call.name} was not run: {', '.join(self.rules)}"


@frozen(kw_only=True)
class ToolInterrupted(ToolEvent):
    """Event of a tool call without a result: the run waits, or `error` ends it, as a cancellation does."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("call.arguments",)

    closes: ClassVar[str | None] = SpanKind.TOOL

    seconds: float
    error: str | None = None

    def describe_span(self) -> SpanFacts:
        """Return that the tool waits, or what ended it."""
        return SpanFacts(status="waiting" if self.error is None else "failed", error=self.error)

    def describe(self) -> str:
        """Return which tool waits, or what ended it."""
        return f"{self.call.name} waits" if self.error is None else f"{self.call.name} is ended: {self.error}"


@frozen(kw_only=True)
class HandedOff(Event):
    """Event of an agent that hands the conversation to `target`; `message` is its message to the target."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("message",)

    target: str
    message: str | None = None

    def describe(self) -> str:
        """Return who continues."""
        return f"hands over to {self.target}"
