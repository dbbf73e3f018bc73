"""Policy of the turn loop: limits, guardrails, and attempts at valid answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tactician.config.loading import load_settings
from tactician.conversation import WindowStrategy
from tactician.frozen import frozen
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.checks import InputGuardrails
from tactician.guardrails.decorators import (
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
)
from tactician.guardrails.guardrail import OutputGuardrail, ToolInputGuardrail, ToolOutputGuardrail
from tactician.loop.autonomy import Autonomous

if TYPE_CHECKING:
    from tactician.config.settings import AttemptSettings
    from tactician.planning.rules import Rule

DEFAULT_MAX_TURNS = 10
DEFAULT_MAX_REPEATS = 3


@frozen(kw_only=True)
class Guards:
    """Guardrails on the input, the output and the tool calls of an agent."""

    input: InputGuardrails = InputGuardrails()
    output: tuple[OutputGuardrail, ...] = ()
    tool_input: tuple[ToolInputGuardrail, ...] = ()
    tool_output: tuple[ToolOutputGuardrail, ...] = ()

    @classmethod
    def of(
        cls,
        input: Sequence[GuardrailLike],
        output: Sequence[GuardrailLike],
        tool_input: Sequence[GuardrailLike],
        tool_output: Sequence[GuardrailLike],
    ) -> Guards:
        """Return the guardrails that a user declared in any form.

        Raises:
            DeclarationError: when a guardrail is not declared correctly.
        """
        if not (input or output or tool_input or tool_output):
            return NO_GUARDS
        return cls(
            input=InputGuardrails.of(map(as_input_guardrail, input)),
            output=tuple(map(as_output_guardrail, output)),
            tool_input=tuple(map(as_tool_input_guardrail, tool_input)),
            tool_output=tuple(map(as_tool_output_guardrail, tool_output)),
        )


NO_GUARDS = Guards()


@dataclass(frozen=True, kw_only=True)
class TurnPolicy:
    """Limits of a conversation, and the other settings of an agent for its turns.

    Attributes:
        max_turns: requests in which the model may use tools. After them the model is asked to answer, at most three
            times.
        max_attempts: number of attempts at a valid object before the run fails; the project's number, when `None`.
        max_tool_calls: number of tool calls in all; no limit, when `None`.
        max_repeats: number of equal calls in a row from which on the call is not run any more; no limit, when `None`.
        parallel_tools: run the tool calls of a turn concurrently.
        tool_timeout: seconds for a tool call; no limit, when `None`.
        max_tool_output_tokens: length at which a result is cut off, at about four characters a token; no limit, when
            `None`.
        max_tool_output_chars: the same length in characters; the shorter one counts.
        window: the part of a long conversation that the model sees; all, when `None`.
        guards: the guardrails.
        autonomy: policy of an autonomous agent; when `None`, the first reply without tool calls is the answer.
        rules: rules over the tool calls, of `tactician.planning.rules`.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    max_attempts: int | None = None
    max_tool_calls: int | None = None
    max_repeats: int | None = DEFAULT_MAX_REPEATS
    parallel_tools: bool = True
    tool_timeout: float | None = None
    max_tool_output_tokens: int | None = None
    max_tool_output_chars: int | None = None
    window: WindowStrategy | None = None
    guards: Guards = NO_GUARDS
    autonomy: Autonomous | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def tool_output_limit(self) -> int | None:
        """The limit of a tool's output in tokens, from the agent or its autonomy."""
        if self.max_tool_output_tokens is None and self.autonomy is not None:
            return self.autonomy.max_tool_output_tokens
        return self.max_tool_output_tokens


DEFAULT_POLICY = TurnPolicy()


class AnswerAttempts:
    """Number of attempts at valid answers and the waits between them, for all runs of a platform.

    Args:
        settings: the settings; by default, those in `tactician.toml`.

    Raises:
        ConfigurationError: when the settings are not valid.
    """

    def __init__(self, settings: AttemptSettings | None = None) -> None:
        self.settings = load_settings().platform.data_binding if settings is None else settings
