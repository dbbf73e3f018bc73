"""Early end of an ensemble, which a review asks for."""

from __future__ import annotations

from typing import Final

from tactician.ensemble.values.results import ExitReason
from tactician.runs import RunContext

ENDED: Final = "a review has ended the ensemble"
"""Reason why tasks are skipped after an early exit."""


class EarlyExit:
    """Early end of a run of an ensemble, in all its phases. It is kept in the checkpoint of the run.

    Args:
        context: the context of the run of the ensemble.

    Attributes:
        reason: the reason; `None` while the ensemble goes on.
    """

    __slots__ = ("_context", "reason")

    def __init__(self, context: RunContext) -> None:
        data = {} if context.checkpoint is None else context.checkpoint.data
        self._context = context
        self.reason = ExitReason(str(data["exit"])) if "exit" in data else None

    def request(self, reason: ExitReason) -> None:
        """End the ensemble: no other task starts. The next step that is saved has it."""
        self.reason = reason
        assert self._context.checkpoint is not None
        self._context.checkpoint.set(exit=reason.value)
