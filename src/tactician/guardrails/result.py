"""What a guardrail decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

GuardrailOutcome: TypeAlias = Literal["passed", "failed", "retry"]


@dataclass(frozen=True, slots=True)
class GuardrailResult:
    """A guardrail's decision. `passed()`, `failed(reason)` and `retry(reason)` make one.

    Attributes:
        outcome: after `"retry"` the model reads the reason and does better; there is none of it for an input.
        reason: why it did not pass.
        cause: what the guardrail raised, when that is why it failed.
    """

    outcome: GuardrailOutcome
    reason: str = ""
    cause: Exception | None = field(default=None, compare=False)

    @property
    def passed(self) -> bool:
        """Whether the run may go on."""
        return self.outcome == "passed"


_PASSED = GuardrailResult("passed")


def passed() -> GuardrailResult:
    """There is nothing to object to."""
    return _PASSED


def failed(reason: str) -> GuardrailResult:
    """The run has to stop; its error gives the reason."""
    return GuardrailResult("failed", reason)


def retry(reason: str) -> GuardrailResult:
    """The model has to do better, and reads the reason: it answers again, or gets no result of its tool call."""
    return GuardrailResult("retry", reason)
