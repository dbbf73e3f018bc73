"""Events of guardrails."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.events import Event
from tactician.guardrails.guardrail import GuardrailKind
from tactician.guardrails.result import GuardrailOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailChecked(Event):
    """Event of a guardrail's decision; `reason` explains it unless the outcome is `"passed"`."""

    guardrail: str
    kind: GuardrailKind
    outcome: GuardrailOutcome
    reason: str
    seconds: float
