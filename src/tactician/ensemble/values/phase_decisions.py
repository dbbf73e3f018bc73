"""Decisions on phases: approved, to be done again, or rejected."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import ConfigDict, Field

from tactician.frozen import frozen

Verdict: TypeAlias = Literal["approve", "retry", "retry_predecessor", "reject"]

_FORM: Final = re.compile(
    r"(RETRY_PREDECESSOR|RETRY|REJECT)(?:[ \t]+([^:\n]+?))?[ \t]*:(.*)", re.DOTALL | re.IGNORECASE
)
_DESCRIPTION: Final = (
    "Decision on the work: approve accepts it, retry lets it be done again, retry_predecessor lets the phase before it "
    "be done again first, reject ends everything."
)
FORMS: Final = "APPROVE, RETRY: <feedback>, RETRY_PREDECESSOR: <feedback>, or REJECT: <reason>"
"""The forms of a decision as text, for messages."""


@frozen
class PhaseDecision:
    """Decision on the outputs of a phase.

    As text it is `APPROVE`, `RETRY: <feedback>`, `RETRY_PREDECESSOR: <feedback>`,
    `RETRY_PREDECESSOR <phase>: <feedback>` or `REJECT: <reason>`.

    Attributes:
        verdict: `"approve"` accepts the outputs, `"retry"` runs the phase again, `"retry_predecessor"` runs a phase
            before it again and then this phase, and `"reject"` ends the run.
        feedback: what to change, or the reason of a rejection.
        phase: the name of the phase to run again, for `"retry_predecessor"`; the only phase before, when `None`.

    Raises:
        ValueError: when the verdict is none of these, anything but an approval has no feedback, or a phase is named
            where none runs again.
        TypeError: when the feedback is not a text.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(json_schema_extra={"description": _DESCRIPTION})

    verdict: Annotated[Verdict, Field(description="what happens next")]
    feedback: Annotated[str, Field(description="what to change, or the reason; not for approve")] = ""
    phase: Annotated[str | None, Field(description="phase to run again, for retry_predecessor")] = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"the verdict {self.verdict!r} is not one of {', '.join(map(repr, get_args(Verdict)))}")
        if not isinstance(self.feedback, str):
            raise TypeError(f"the feedback {self.feedback!r} is not a text")
        if self.verdict != "approve" and not self.feedback.strip():
            raise ValueError(f"the decision {self.verdict!r} needs feedback: say what to change, or why")
        if self.phase is not None and self.verdict != "retry_predecessor":
            raise ValueError(f"the decision {self.verdict!r} names the phase {self.phase!r}: leave it out")

    @classmethod
    def approve(cls) -> PhaseDecision:
        """Return the decision to accept the outputs."""
        return cls("approve")

    @classmethod
    def retry(cls, why: str) -> PhaseDecision:
        """Return the decision to run the phase again, with feedback for its tasks."""
        return cls("retry", why)

    @classmethod
    def retry_predecessor(cls, why: str, phase: str | None = None) -> PhaseDecision:
        """Return the decision to run a phase before it again, with feedback for its tasks, and then this phase."""
        return cls("retry_predecessor", why, phase)

    @classmethod
    def reject(cls, why: str) -> PhaseDecision:
        """Return the decision to end the run."""
        return cls("reject", why)

    @classmethod
    def __from_text__(cls, text: str) -> PhaseDecision | None:
        """Return the decision that a text is; `None` when it has none of the forms."""
        stripped = text.strip()
        if stripped.upper() == "APPROVE":
            return cls.approve()
        if (match := _FORM.fullmatch(stripped)) is None or not match[3].strip():
            return None
        verdict, phase, feedback = match[1].upper(), match[2], match[3].strip()
        if verdict == "RETRY_PREDECESSOR":
            return cls.retry_predecessor(feedback, phase)
        if phase is not None:
            return None
        return cls.retry(feedback) if verdict == "RETRY" else cls.reject(feedback)

    def __str__(self) -> str:
        """Return the decision as text."""
        head = self.verdict.upper() + (f" {self.phase}" if self.phase else "")
        return f"{head}: {self.feedback}" if self.feedback else head


class UndecidedError(Exception):
    """Signal that a reviewer gave no decision that can be followed."""


@frozen
class PhaseAttempt:
    """Attempt at a phase, and the decision on it.

    Attributes:
        number: number of the attempt in the run, from 1.
        raw: the output of the phase in this attempt, as text.
        decision: the decision.
        by: the name of the person who decided, if it is known.
    """

    number: int
    raw: str
    decision: PhaseDecision
    by: str | None = None


@frozen
class PhaseReviewRecord:
    """Attempts at a phase with a review.

    Attributes:
        history: the attempts, first to last.
    """

    history: tuple[PhaseAttempt, ...] = ()

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return len(self.history)

    @property
    def decision(self) -> PhaseDecision | None:
        """The last decision; `None` when there was none."""
        return self.history[-1].decision if self.history else None
