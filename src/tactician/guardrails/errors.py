"""The error of a run that a guardrail stops."""

from __future__ import annotations

from tactician.guardrails.guardrail import GuardrailKind
from tactician.runs import RunError, RunResult


class GuardrailError(RunError):
    """A guardrail stopped the run; where it did so by raising, that exception is this error's cause.

    Attributes:
        guardrail: its name.
        kind: `"input"`, `"output"`, `"tool_input"` or `"tool_output"`.
        reason: what it said.
    """

    def __init__(self, run: str, guardrail: str, kind: GuardrailKind, reason: str, result: RunResult[None]) -> None:
        label = f"{kind.replace('_', ' ')} guardrail {guardrail!r}"
        super().__init__(f"{run}: the {label} stopped the run: {reason}", result)
        self.guardrail = guardrail
        self.kind = kind
        self.reason = reason
