"""Guardrails: checks on inputs, outputs and tool calls that stop a run or make the model try again."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.guardrails.built_in import blocked_words as blocked_words
    from tactician.guardrails.built_in import matches as matches
    from tactician.guardrails.built_in import max_length as max_length
    from tactician.guardrails.built_in import no_match as no_match
    from tactician.guardrails.checks import GuardrailError as GuardrailError
    from tactician.guardrails.decorators import input_guardrail as input_guardrail
    from tactician.guardrails.decorators import output_guardrail as output_guardrail
    from tactician.guardrails.decorators import tool_input_guardrail as tool_input_guardrail
    from tactician.guardrails.decorators import tool_output_guardrail as tool_output_guardrail
    from tactician.guardrails.events import GuardrailChecked as GuardrailChecked
    from tactician.guardrails.registration import input as input  # noqa: A004 - `guardrails.input`
    from tactician.guardrails.registration import output as output
    from tactician.guardrails.registration import tool_input as tool_input
    from tactician.guardrails.registration import tool_output as tool_output
    from tactician.guardrails.result import GuardrailResult as GuardrailResult
    from tactician.guardrails.result import failed as failed
    from tactician.guardrails.result import passed as passed
    from tactician.guardrails.result import retry as retry
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.guardrails.built_in": "blocked_words matches max_length no_match",
            "tactician.guardrails.checks": "GuardrailError",
            "tactician.guardrails.decorators": (
                "input_guardrail output_guardrail tool_input_guardrail tool_output_guardrail"
            ),
            "tactician.guardrails.events": "GuardrailChecked",
            "tactician.guardrails.registration": "input output tool_input tool_output",
            "tactician.guardrails.result": "GuardrailResult failed passed retry",
        },
    )
