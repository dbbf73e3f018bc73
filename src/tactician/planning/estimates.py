"""Estimates of a run of an action."""

from __future__ import annotations

from typing import Final

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.frozen import frozen

_LEAST_SUCCESS: Final = 0.01
"""An action is never expected to need more than a hundred runs: no estimate is sure enough for that."""


@frozen(kw_only=True)
class RunEstimate:
    """Estimate of a run of an action.

    Attributes:
        seconds: duration of a run, whether it succeeds or fails.
        dollars: US dollars of its model calls.
        success: the chance that a run gives a result.
        runs: number of runs behind these numbers; 0 for a guess.
        runs_alone: True when no other action runs beside it.

    Raises:
        ConfigurationError: when a number is negative, or `success` is not from 0 to 1.
    """

    seconds: float = 0.0
    dollars: float = 0.0
    success: float = 1.0
    runs: int = 0
    runs_alone: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "dollars", "success"):
            need_amount(f"RunEstimate.{name}", getattr(self, name))
        need_amount("RunEstimate.runs", self.runs, whole=True)
        if self.success > 1:
            raise ConfigurationError(f"RunEstimate.success is {self.success!r}; it must be a number from 0 to 1")

    @property
    def attempts(self) -> float:
        """Number of runs until one succeeds, on average: 1 / success."""
        return 1.0 / max(self.success, _LEAST_SUCCESS)
