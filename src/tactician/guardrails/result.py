"""Decisions of guardrails."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from tactician.frozen import frozen

GuardrailOutcome: TypeAlias = Literal["passed", "failed", "retry"]


@frozen
class GuardrailResult:
    """Decision of a guardrail; see `passed()`, `failed(reason)` and `retry(reason)`.

    Attributes:
        outcome: after `"retry"` the model reads the reason and does better; inputs cannot be tried again.
        reason: the reason, unless it passed.
        cause: the exception of the guardrail, if any.
    """

    outcome: GuardrailOutcome
    reason: str = ""
    cause: Exception | None = field(default=None, compare=False)

    @property
    def passed(self) -> bool:
        """`True` when the run may continue."""
        return self.outcome == "passed"


_PASSED = GuardrailResult("passed")


def passed() -> GuardrailResult:
    """Return the decision that the run continues."""
    return _PASSED


def failed(reason: str) -> GuardrailResult:
    """Return the decision that the run stops with an error that has the reason."""
    return GuardrailResult("failed", reason)


def retry(reason: str) -> GuardrailResult:
    """Return the decision that the model tries again, with the reason: a new answer, or another tool call."""
    return GuardrailResult("retry", reason)
