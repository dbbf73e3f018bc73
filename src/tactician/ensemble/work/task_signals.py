"""Signals with which the steps of a task lead elsewhere than to the next step."""

from __future__ import annotations

from tactician.ensemble.values.results import ExitReason
from tactician.ensemble.values.task_output import TaskOutput


class EnsembleExit(Exception):  # noqa: N818 - it says what happens
    """Signal that a review ends the ensemble.

    Attributes:
        reason: the reason.
        output: the output of the reviewed task; `None` before it has run.
    """

    def __init__(self, reason: ExitReason, output: TaskOutput | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


class RetryRequested(Exception):  # noqa: N818 - it says what happens
    """Signal that a guardrail or a review asks for another attempt, with feedback."""

    def __init__(self, feedback: str) -> None:
        super().__init__(feedback)
        self.feedback = feedback
