"""Error of a run that a guardrail stops."""

from __future__ import annotations

from tactician.guardrails.guardrail import GuardrailKind
from tactician.runs import RunError, RunResult


class GuardrailError(RunError):
    """Error of a run that a guardrail stopped. An exception of the guardrail is its cause.

    Attributes:
        guardrail: the name of the guardrail.
        kind: `"input"`, `"output"`, `"tool_input"` or `"tool_output"`.
        reason: the reason.
    """

    def __init__(self, run: str, guardrail: str, kind: GuardrailKind, reason: str, result: RunResult[None]) -> None:
        label = f"{kind.replace('_', ' ')} guardrail {guardrail!r}"
        super().__init__(f"{run}: the {label} stopped the run: {reason}", result)
        self.guardrail = guardrail
        self.kind = kind
        self.reason = reason
