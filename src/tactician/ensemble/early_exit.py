"""Early end of an ensemble, which a review asks for."""

from __future__ import annotations

from typing import Final

from tactician.ensemble.results import ExitReason
from tactician.runs import RunContext

ENDED: Final = "a review has ended the ensemble"
"""Reason why tasks are skipped after an early exit."""


class EarlyExit:
    """Early end of a run of an ensemble, in all its phases. It is kept in the checkpoint of the run.

    Args:
        context: the context of the run of the ensemble.
    """

    __slots__ = ("_context",)

    def __init__(self, context: RunContext) -> None:
        self._context = context

    @property
    def reason(self) -> ExitReason | None:
        """The reason; `None` while the ensemble goes on."""
        data = {} if self._context.checkpoint is None else self._context.checkpoint.data
        return ExitReason(str(data["exit"])) if "exit" in data else None

    def request(self, reason: ExitReason) -> None:
        """End the ensemble: no other task starts. The next step that is saved has it."""
        assert self._context.checkpoint is not None
        self._context.checkpoint.set(exit=reason.value)
