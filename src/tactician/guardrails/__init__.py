"""Guardrails: checks on inputs, outputs and tool calls that stop a run or make the model try again."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.guardrails.built_in import blocked_words as blocked_words
    from tactician.guardrails.built_in import matches as matches
    from tactician.guardrails.built_in import max_length as max_length
    from tactician.guardrails.built_in import no_match as no_match
    from tactician.guardrails.callables import Check as Check
    from tactician.guardrails.callables import Checker as Checker
    from tactician.guardrails.callables import GuardrailLike as GuardrailLike
    from tactician.guardrails.checks import GuardrailError as GuardrailError
    from tactician.guardrails.checks import InputGuardrails as InputGuardrails
    from tactician.guardrails.checks import Objection as Objection
    from tactician.guardrails.checks import find_any_objection as find_any_objection
    from tactician.guardrails.checks import find_first_objection as find_first_objection
    from tactician.guardrails.decorators import as_input_guardrail as as_input_guardrail
    from tactician.guardrails.decorators import as_output_guardrail as as_output_guardrail
    from tactician.guardrails.decorators import as_tool_input_guardrail as as_tool_input_guardrail
    from tactician.guardrails.decorators import as_tool_output_guardrail as as_tool_output_guardrail
    from tactician.guardrails.decorators import input_guardrail as input_guardrail
    from tactician.guardrails.decorators import output_guardrail as output_guardrail
    from tactician.guardrails.decorators import tool_input_guardrail as tool_input_guardrail
    from tactician.guardrails.decorators import tool_output_guardrail as tool_output_guardrail
    from tactician.guardrails.events import GuardrailChecked as GuardrailChecked
    from tactician.guardrails.guardrail import AnyGuardrail as AnyGuardrail
    from tactician.guardrails.guardrail import CheckedInput as CheckedInput
    from tactician.guardrails.guardrail import CheckedOutput as CheckedOutput
    from tactician.guardrails.guardrail import CheckedToolOutput as CheckedToolOutput
    from tactician.guardrails.guardrail import Guardrail as Guardrail
    from tactician.guardrails.guardrail import GuardrailKind as GuardrailKind
    from tactician.guardrails.guardrail import InputGuardrail as InputGuardrail
    from tactician.guardrails.guardrail import OutputGuardrail as OutputGuardrail
    from tactician.guardrails.guardrail import ToolInputGuardrail as ToolInputGuardrail
    from tactician.guardrails.guardrail import ToolOutputGuardrail as ToolOutputGuardrail
    from tactician.guardrails.registration import GuardrailRegistry as GuardrailRegistry
    from tactician.guardrails.registration import input as input  # noqa: A004 - `guardrails.input`
    from tactician.guardrails.registration import output as output
    from tactician.guardrails.registration import registry as registry
    from tactician.guardrails.registration import tool_input as tool_input
    from tactician.guardrails.registration import tool_output as tool_output
    from tactician.guardrails.result import GuardrailOutcome as GuardrailOutcome
    from tactician.guardrails.result import GuardrailResult as GuardrailResult
    from tactician.guardrails.result import failed as failed
    from tactician.guardrails.result import passed as passed
    from tactician.guardrails.result import retry as retry
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.guardrails.built_in": "blocked_words matches max_length no_match",
            "tactician.guardrails.callables": "Check Checker GuardrailLike",
            "tactician.guardrails.checks": (
                "GuardrailError InputGuardrails Objection find_any_objection find_first_objection"
            ),
            "tactician.guardrails.decorators": (
                "as_input_guardrail as_output_guardrail as_tool_input_guardrail as_tool_output_guardrail "
                "input_guardrail output_guardrail tool_input_guardrail tool_output_guardrail"
            ),
            "tactician.guardrails.events": "GuardrailChecked",
            "tactician.guardrails.guardrail": (
                "AnyGuardrail CheckedInput CheckedOutput CheckedToolOutput Guardrail GuardrailKind InputGuardrail "
                "OutputGuardrail ToolInputGuardrail ToolOutputGuardrail"
            ),
            "tactician.guardrails.registration": "GuardrailRegistry input output registry tool_input tool_output",
            "tactician.guardrails.result": "GuardrailOutcome GuardrailResult failed passed retry",
        },
    )
