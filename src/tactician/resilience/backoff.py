"""Exponential backoff."""

from __future__ import annotations


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
