"""The four kinds of guardrails, as the turn loop uses them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from tactician.errors import DeclarationError
from tactician.guardrails.callables import GuardrailCallable
from tactician.guardrails.result import GuardrailResult
from tactician.llm import Message, ToolCall, text_of
from tactician.runs import RunContext

GuardrailKind: TypeAlias = Literal["input", "output", "tool_input", "tool_output"]
V = TypeVar("V")


def describe_guardrail(kind: GuardrailKind, name: str) -> str:
    """How errors call a guardrail."""
    return f"{kind.replace('_', ' ')} guardrail {name!r}"


@dataclass(frozen=True, slots=True)
class CheckedInput:
    """What input guardrails check: the messages that are new, and the conversation that they end."""

    new: Sequence[Message]
    conversation: Sequence[Message]


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """What output guardrails check: the last answer, as text and as an object of the output type."""

    text: str
    output: object


@dataclass(frozen=True, slots=True)
class CheckedToolOutput:
    """What tool output guardrails check: what a tool returned, and the call that asked for it."""

    call: ToolCall
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSettings:
    """How a guardrail is declared to be used; see the decorators."""

    concurrent: bool = False
    whole_conversation: bool = False
    tools: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail(ABC, Generic[V]):
    """A check on something of type V.

    Attributes:
        name: how errors and events call it.
        registered: the name by which the registry finds it; `None` when it is not there.
        source: what it was made of: a function, or an object with `check`.
    """

    kind: ClassVar[GuardrailKind]
    sees: ClassVar[tuple[str, ...]]
    """The arguments of its function, before the context."""

    name: str
    registered: str | None
    source: object
    call: GuardrailCallable = field(repr=False, compare=False)
    settings: GuardrailSettings = field(repr=False)

    def applies_to(self, value: V) -> bool:
        """Whether this value is to be checked at all."""
        return True

    @abstractmethod
    def select_arguments(self, value: V) -> tuple[object, ...]:
        """What its function is to see of the value."""

    async def check(self, value: V, context: RunContext) -> GuardrailResult:
        """Its decision. A guardrail that raises, or decides nothing, has failed; cancellation passes through."""
        arguments = self.select_arguments(value)
        if self.call.parameters > len(arguments):
            arguments = (*arguments, context)
        try:
            given = self.call.function(*arguments)
            decided: object = await given if isinstance(given, Awaitable) else given
        except Exception as error:
            return GuardrailResult("failed", f"it raised {type(error).__name__}: {error}", error)
        if isinstance(decided, GuardrailResult) and (decided.outcome != "retry" or self.kind != "input"):
            return decided
        return self._create_misuse_result(decided)

    def _create_misuse_result(self, decided: object) -> GuardrailResult:
        if isinstance(decided, GuardrailResult):
            problem = "it asks for a retry, but no model has said anything yet; return guardrails.failed(reason)"
        else:
            problem = f"it returned {decided!r}; return guardrails.passed() or guardrails.failed(reason)"
        return GuardrailResult("failed", problem, DeclarationError(describe_guardrail(self.kind, self.name), [problem]))


@dataclass(frozen=True, slots=True, kw_only=True)
class InputGuardrail(Guardrail[CheckedInput]):
    """Sees the text of the new input, or of the whole conversation, before the model does."""

    kind: ClassVar[GuardrailKind] = "input"
    sees: ClassVar[tuple[str, ...]] = ("text",)

    @property
    def concurrent(self) -> bool:
        """Whether it runs beside the first model call instead of before it."""
        return self.settings.concurrent

    @property
    def whole_conversation(self) -> bool:
        """Whether it sees all messages, not only the new ones."""
        return self.settings.whole_conversation

    def select_arguments(self, value: CheckedInput) -> tuple[object, ...]:
        """The text, one line for each message."""
        return (text_of(value.conversation if self.settings.whole_conversation else value.new),)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputGuardrail(Guardrail[CheckedOutput]):
    """Sees the last answer: its text when that is what its first parameter is declared to be, else the object."""

    kind: ClassVar[GuardrailKind] = "output"
    sees: ClassVar[tuple[str, ...]] = ("output",)

    def select_arguments(self, value: CheckedOutput) -> tuple[object, ...]:
        """The text or the object."""
        return (value.text if self.call.reads_text else value.output,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInputGuardrail(Guardrail[ToolCall]):
    """Sees a tool call before the tool runs."""

    kind: ClassVar[GuardrailKind] = "tool_input"
    sees: ClassVar[tuple[str, ...]] = ("call",)

    def applies_to(self, value: ToolCall) -> bool:
        """Whether it is declared for the tool."""
        return self.settings.tools is None or value.name in self.settings.tools

    def select_arguments(self, value: ToolCall) -> tuple[object, ...]:
        """The call."""
        return (value,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputGuardrail(Guardrail[CheckedToolOutput]):
    """Sees a tool call and what the tool returned, before the model does."""

    kind: ClassVar[GuardrailKind] = "tool_output"
    sees: ClassVar[tuple[str, ...]] = ("call", "content")

    def applies_to(self, value: CheckedToolOutput) -> bool:
        """Whether it is declared for the tool."""
        return self.settings.tools is None or value.call.name in self.settings.tools

    def select_arguments(self, value: CheckedToolOutput) -> tuple[object, ...]:
        """The call and the content."""
        return value.call, value.content


AnyGuardrail: TypeAlias = InputGuardrail | OutputGuardrail | ToolInputGuardrail | ToolOutputGuardrail
