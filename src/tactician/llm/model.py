"""The one contract of every model: a request, a response, and what the model can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from tactician.events import EventEmitter
from tactician.llm.messages import AssistantMessage, Message, SystemMessage, join_text
from tactician.llm.options import NO_OPTIONS, LlmOptions
from tactician.llm.usage import NO_USAGE, ModelPrice, Usage

JsonSchema: TypeAlias = Mapping[str, object]
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: a name, what it is for, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonSchema


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """The JSON schema that the final answer must match; `strict` when it has no free-form objects."""

    name: str
    schema: JsonSchema
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Features:
    """What a model can do by itself. What it cannot do, `adapt_request` makes up for where that is possible."""

    tools: bool = False
    json_schema: bool = False
    images: bool = False
    temperature: bool = True


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call to a model.

    Attributes:
        messages: the conversation, oldest first.
        tools: what the model may call.
        tool_choice: `"auto"`, `"none"`, `"required"`, or the name of the one tool to call.
        output: the schema of the final answer; plain text without one.
        options: hyperparameters.
        observer: what emits the events of the request; it is not a part of what is asked.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    output: OutputSpec | None = None
    options: LlmOptions = NO_OPTIONS
    observer: EventEmitter | None = field(default=None, compare=False, repr=False)

    @property
    def prompt(self) -> str:
        """The text of everything but the system messages, for logs and tests."""
        return join_text(m for m in self.messages if not isinstance(m, SystemMessage))


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What a model answered.

    Attributes:
        message: the answer.
        usage: the tokens that it took, and whose they are: those of the model that was asked, as `instance:model`.
        finish_reason: why the model stopped.
        model: what the provider says which model it was.
    """

    message: AssistantMessage
    usage: Usage = NO_USAGE
    finish_reason: FinishReason = "stop"
    model: str = ""

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> ModelResponse:
        """The same, with a usage that says whose it is; itself where it says so already."""
        if price is None and self.usage.model:
            return self
        usage = self.usage.attribute_to(model, price)
        return self if usage is self.usage else replace(self, usage=usage)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A few more characters of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A few more characters of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A few more characters of a tool call's arguments; `name` comes with the first of them."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = field(default="", repr=False)


Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta


@runtime_checkable
class LanguageModel(Protocol):
    """Anything that answers a `ModelRequest`.

    `stream` yields deltas and, last, the same `ModelResponse` that `generate` would have returned.
    Both raise `tactician.errors.ModelError`.
    """

    @property
    def name(self) -> str:
        """The full name, for example `openai:gpt-5.4`."""
        ...

    @property
    def features(self) -> Features:
        """What the model can do by itself."""
        ...

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """One call, one answer."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it."""
        ...
