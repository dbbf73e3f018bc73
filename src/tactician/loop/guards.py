"""The guardrails of an agent."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.guardrails import InputGuardrails, OutputGuardrail, ToolInputGuardrail, ToolOutputGuardrail


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What is checked on the way into a conversation, out of it, and around its tools."""

    input: InputGuardrails = InputGuardrails()  # noqa: RUF009 - it is immutable
    output: tuple[OutputGuardrail, ...] = ()
    tool_input: tuple[ToolInputGuardrail, ...] = ()
    tool_output: tuple[ToolOutputGuardrail, ...] = ()


NO_GUARDS = Guards()
