"""Events of guardrails."""

from __future__ import annotations

import logging
from typing import ClassVar

from tactician.events import Event
from tactician.frozen import frozen
from tactician.guardrails.guardrail import GuardrailKind
from tactician.guardrails.result import GuardrailOutcome


@frozen(kw_only=True)
class GuardrailChecked(Event):
    """Event of a guardrail's decision; `reason` explains it unless the outcome is `"passed"`."""

    content_fields: ClassVar[tuple[str, ...]] = ("reason",)

    guardrail: str
    kind: GuardrailKind
    outcome: GuardrailOutcome
    reason: str
    seconds: float

    @property
    def level(self) -> int:
        """Level `INFO` unless the check passed."""
        return logging.DEBUG if self.outcome == "passed" else logging.INFO

    def describe(self) -> str:
        """Return the decision."""
        return f"guardrail {self.guardrail} ({self.kind}): {self.outcome}"
