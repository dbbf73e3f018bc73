"""Contract of every language model: requests, responses and features."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import field, replace
from datetime import date
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from tactician.events.bus import EventEmitter
from tactician.frozen import frozen
from tactician.llm.messages import AssistantMessage, Message, SystemMessage, join_text
from tactician.llm.options import NO_OPTIONS, LlmOptions
from tactician.llm.usage import NO_USAGE, ModelPrice, Usage

JsonSchema: TypeAlias = Mapping[str, object]
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@frozen
class ToolSpec:
    """Tool as a model sees it: name, description, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonSchema


@frozen
class OutputSpec:
    """JSON schema that the final answer must match; `strict` if it has no free-form objects."""

    name: str
    schema: JsonSchema
    strict: bool = True


@frozen
class Features:
    """Features that a model has natively. `adapt_request` replaces missing ones where that is possible.

    Attributes:
        knowledge_cutoff: last day of its training data, if known. The instructions of the model mention it.
    """

    tools: bool = False
    json_schema: bool = False
    images: bool = False
    temperature: bool = True
    knowledge_cutoff: date | None = None


@frozen(enforced=False)
class ModelRequest:
    """Call to a model.

    Attributes:
        messages: the conversation, oldest first.
        tools: the tools that the model may call.
        tool_choice: `"auto"`, `"none"`, `"required"`, or the name of the tool that it has to call.
        output: the schema of the final answer; `None` for plain text.
        options: hyperparameters.
        observer: the emitter of the request's events, which is not part of the request's data.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    output: OutputSpec | None = None
    options: LlmOptions = NO_OPTIONS
    observer: EventEmitter | None = field(default=None, compare=False, repr=False)

    def with_observer(self, observer: EventEmitter) -> ModelRequest:
        """Return the same request with another observer."""
        return ModelRequest(self.messages, self.tools, self.tool_choice, self.output, self.options, observer)

    @property
    def prompt(self) -> str:
        """Text of everything but the system messages, for logs and tests."""
        return join_text(m for m in self.messages if not isinstance(m, SystemMessage))


@frozen(enforced=False)
class ModelResponse:
    """Answer of a model.

    Attributes:
        message: the answer.
        usage: the tokens of the call, with the name of the model as `instance:model`.
        finish_reason: why the model stopped.
        model: the name of the model as the provider reports it.
        id: the id of the answer at the provider; empty where it gives none.
    """

    message: AssistantMessage
    usage: Usage = NO_USAGE
    finish_reason: FinishReason = "stop"
    model: str = ""
    id: str = field(default="", compare=False)

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> ModelResponse:
        """Return a copy whose usage names the model, or this object if its usage already does."""
        if price is None and self.usage.model:
            return self
        usage = self.usage.attribute_to(model, price)
        return self if usage is self.usage else replace(self, usage=usage)


@frozen(enforced=False)
class TextDelta:
    """Next characters of the answer."""

    text: str


@frozen(enforced=False)
class ThinkingDelta:
    """Next characters of the model's thinking."""

    text: str


@frozen
class ToolCallDelta:
    """Next characters of a tool call's arguments; `name` comes with the first of them."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = field(default="", repr=False)


Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta


@runtime_checkable
class LanguageModel(Protocol):
    """Protocol of everything that answers a `ModelRequest`.

    `stream` yields deltas and, last, the same `ModelResponse` that `generate` would have returned.
    Both raise `tactician.errors.ModelError`.
    """

    @property
    def name(self) -> str:
        """Full name, for example `openai:gpt-5.4`."""
        ...

    @property
    def features(self) -> Features:
        """Native features of the model."""
        ...

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response."""
        ...
