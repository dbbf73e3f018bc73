"""Guardrails: checks on inputs, outputs and tool calls that stop a run or make the model try again."""

from tactician.guardrails.built_in import blocked_words, matches, max_length, no_match
from tactician.guardrails.callables import Check, Checker, GuardrailLike
from tactician.guardrails.checks import InputGuardrails, Objection, find_any_objection, find_first_objection
from tactician.guardrails.decorators import (
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from tactician.guardrails.errors import GuardrailError
from tactician.guardrails.events import GuardrailChecked
from tactician.guardrails.guardrail import (
    AnyGuardrail,
    CheckedInput,
    CheckedOutput,
    CheckedToolOutput,
    Guardrail,
    GuardrailKind,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from tactician.guardrails.registry import GuardrailRegistry, input, output, registry, tool_input, tool_output  # noqa: A004
from tactician.guardrails.result import GuardrailOutcome, GuardrailResult, failed, passed, retry

__all__ = [
    "GuardrailResult",
    "GuardrailOutcome",
    "passed",
    "failed",
    "retry",
    "input_guardrail",
    "output_guardrail",
    "tool_input_guardrail",
    "tool_output_guardrail",
    "input",
    "output",
    "tool_input",
    "tool_output",
    "registry",
    "GuardrailRegistry",
    "max_length",
    "blocked_words",
    "matches",
    "no_match",
    "GuardrailLike",
    "Check",
    "Checker",
    "as_input_guardrail",
    "as_output_guardrail",
    "as_tool_input_guardrail",
    "as_tool_output_guardrail",
    "Guardrail",
    "AnyGuardrail",
    "GuardrailKind",
    "InputGuardrail",
    "OutputGuardrail",
    "ToolInputGuardrail",
    "ToolOutputGuardrail",
    "CheckedInput",
    "CheckedOutput",
    "CheckedToolOutput",
    "InputGuardrails",
    "Objection",
    "find_first_objection",
    "find_any_objection",
    "GuardrailChecked",
    "GuardrailError",
]
