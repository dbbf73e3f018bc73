"""Guardrails of an agent."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.frozen import frozen
from tactician.guardrails import (
    GuardrailLike,
    InputGuardrails,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
)


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
