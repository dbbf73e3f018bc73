"""The four kinds of guardrails, for the turn loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import field
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.guardrails.callables import GuardrailCallable
from tactician.guardrails.result import GuardrailResult
from tactician.llm import Message, ToolCall
from tactician.llm.messages import join_text
from tactician.runs import RunContext
from tactician.text import describe_error

GuardrailKind: TypeAlias = Literal["input", "output", "tool_input", "tool_output"]
V = TypeVar("V")


def describe_guardrail(kind: GuardrailKind, name: str) -> str:
    """Return the name of a guardrail for messages."""
    return f"{kind.replace('_', ' ')} guardrail {name!r}"


@frozen
class CheckedInput:
    """Input of input guardrails: the new messages, and the whole conversation."""

    new: Sequence[Message]
    conversation: Sequence[Message]


@frozen
class CheckedOutput:
    """Input of output guardrails: the last answer, as text and as an object of the output type."""

    text: str
    output: object


@frozen
class CheckedToolOutput:
    """Input of tool output guardrails: the content that a tool returned, and its call."""

    call: ToolCall
    content: str


@frozen(kw_only=True)
class GuardrailSettings:
    """Settings of a guardrail; see the decorators."""

    concurrent: bool = False
    whole_conversation: bool = False
    tools: frozenset[str] | None = None


@frozen(kw_only=True)
class Guardrail(ABC, Generic[V]):
    """Check of a value of type V.

    Attributes:
        name: the name in errors and events.
        registered: the name in the registry; `None` when it is not registered.
        source: the function, or the object with `check`.
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
        """Return whether the value should be checked."""
        return True

    @abstractmethod
    def select_arguments(self, value: V) -> tuple[object, ...]:
        """Return the arguments for the guardrail function."""

    async def check(self, value: V, context: RunContext) -> GuardrailResult:
        """Check a value. A guardrail that raises or returns no decision has failed; cancellation passes through."""
        arguments = self.select_arguments(value)
        if self.call.parameters > len(arguments):
            arguments = (*arguments, context)
        try:
            decided = self.call.function(*arguments)
            if not isinstance(decided, GuardrailResult) and isinstance(decided, Awaitable):
                decided = await decided
        except Exception as error:
            return GuardrailResult("failed", f"it raised {describe_error(error)}", error)
        if isinstance(decided, GuardrailResult) and (decided.outcome != "retry" or self.kind != "input"):
            return decided
        return self._create_misuse_result(decided)

    def _create_misuse_result(self, decided: object) -> GuardrailResult:
        if isinstance(decided, GuardrailResult):
            problem = "it asks for a retry, but no model has answered yet; return guardrails.failed(reason)"
        else:
            problem = f"it returned {decided!r}; return guardrails.passed() or guardrails.failed(reason)"
        return GuardrailResult("failed", problem, DeclarationError(describe_guardrail(self.kind, self.name), [problem]))


@frozen(kw_only=True)
class InputGuardrail(Guardrail[CheckedInput]):
    """Guardrail on the text of the new input, or of the whole conversation."""

    kind: ClassVar[GuardrailKind] = "input"
    sees: ClassVar[tuple[str, ...]] = ("text",)

    @property
    def concurrent(self) -> bool:
        """`True` when the guardrail runs beside the first model call instead of before it."""
        return self.settings.concurrent

    @property
    def whole_conversation(self) -> bool:
        """`True` when the guardrail gets all messages instead of the new ones."""
        return self.settings.whole_conversation

    def select_arguments(self, value: CheckedInput) -> tuple[object, ...]:
        """Return the text, a line for each message."""
        return (join_text(value.conversation if self.settings.whole_conversation else value.new),)


@frozen(kw_only=True)
class OutputGuardrail(Guardrail[CheckedOutput]):
    """Guardrail on the last answer: its text when its first parameter is annotated with `str`, else the object."""

    kind: ClassVar[GuardrailKind] = "output"
    sees: ClassVar[tuple[str, ...]] = ("output",)

    def select_arguments(self, value: CheckedOutput) -> tuple[object, ...]:
        """Return the text or the object."""
        return (value.text if self.call.reads_text else value.output,)


@frozen(kw_only=True)
class ToolInputGuardrail(Guardrail[ToolCall]):
    """Guardrail on a tool call before the tool runs."""

    kind: ClassVar[GuardrailKind] = "tool_input"
    sees: ClassVar[tuple[str, ...]] = ("call",)

    def applies_to(self, value: ToolCall) -> bool:
        """Return whether the guardrail is declared for the tool."""
        return self.settings.tools is None or value.name in self.settings.tools

    def select_arguments(self, value: ToolCall) -> tuple[object, ...]:
        """Return the call."""
        return (value,)


@frozen(kw_only=True)
class ToolOutputGuardrail(Guardrail[CheckedToolOutput]):
    """Guardrail on a tool call with the tool's result, before the model sees it."""

    kind: ClassVar[GuardrailKind] = "tool_output"
    sees: ClassVar[tuple[str, ...]] = ("call", "content")

    def applies_to(self, value: CheckedToolOutput) -> bool:
        """Return whether the guardrail is declared for the tool."""
        return self.settings.tools is None or value.call.name in self.settings.tools

    def select_arguments(self, value: CheckedToolOutput) -> tuple[object, ...]:
        """Return the call and the content."""
        return value.call, value.content


AnyGuardrail: TypeAlias = InputGuardrail | OutputGuardrail | ToolInputGuardrail | ToolOutputGuardrail
