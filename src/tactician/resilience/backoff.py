"""Exponential backoff."""

from __future__ import annotations

from collections.abc import Callable
from random import random as draw_number
from typing import TypeAlias

from tactician.amounts import Delay, Factor, Positive
from tactician.frozen import frozen

Random: TypeAlias = Callable[[], float]
"""Function that returns a number from 0 up to, but not including, 1."""


@frozen(kw_only=True)
class RetryRule:
    """Number of attempts after a kind of failure, and the pauses between them at the same instance.

    `draw_backoff` draws the pauses.

    Attributes:
        attempts: maximum number of attempts at a call that ends with this failure; 1 means no retry.
        base: maximum seconds of the first pause.
        factor: growth of the maximum with each pause.
        longest: maximum seconds of any pause.
    """

    attempts: Positive = 3
    base: Delay = 1.0
    factor: Factor = 2.0
    longest: Delay = 60.0

    def draw_delay(self, attempt: int, random: Random) -> float:
        """Return the seconds to wait after so many attempts."""
        return draw_backoff(attempt, base=self.base, factor=self.factor, longest=self.longest, random=random)


def compute_backoff(attempt: int, *, base: float, factor: float, longest: float) -> float:
    """Return the seconds to wait after an attempt, before any jitter.

    Args:
        attempt: number of the attempt that failed, from 1.
        base: seconds after the first attempt.
        factor: growth with each attempt.
        longest: maximum of the seconds.
    """
    try:
        return min(longest, base * factor ** (attempt - 1))
    except OverflowError:
        return longest if base else 0.0


def draw_backoff(attempt: int, *, base: float, factor: float, longest: float, random: Random = draw_number) -> float:
    """Return the seconds to wait after an attempt, drawn so that those who failed together do not come back together.

    This is AWS's "full jitter" (M. Brooker, *Exponential Backoff And Jitter*, 2015): anything from nothing up to what
    `compute_backoff` returns.

    Args:
        attempt: number of the attempt that failed, from 1.
        base: maximum seconds after the first attempt.
        factor: growth of the maximum with each attempt.
        longest: maximum of the seconds, whatever the attempt.
        random: returns a number from 0 to 1.
    """
    return random() * compute_backoff(attempt, base=base, factor=factor, longest=longest)
