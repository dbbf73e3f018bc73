"""Limits of settings: types that state them, which every form of a setting keeps, and a check of numbers."""

from __future__ import annotations

import sys
from math import inf
from typing import Annotated, Final, TypeAlias

from annotated_types import Ge, Gt, Le, MinLen

from tactician.errors import ConfigurationError

FINITE: Final = sys.float_info.max
"""Largest finite amount."""
Positive: TypeAlias = Annotated[int, Gt(0)]
"""A whole number from 1 up."""
Count: TypeAlias = Annotated[int, Ge(0)]
"""A whole number from 0 up."""
Seconds: TypeAlias = Annotated[float, Gt(0)]
"""A time that is more than nothing."""
Delay: TypeAlias = Annotated[float, Ge(0)]
"""A time in seconds, or none."""
Amount: TypeAlias = Annotated[float, Ge(0)]
"""A number from 0 up, such as US dollars."""
Factor: TypeAlias = Annotated[float, Ge(1)]
"""A factor by which a delay grows."""
HttpStatus: TypeAlias = Annotated[int, Ge(100), Le(599)]
"""A status of HTTP."""
Text: TypeAlias = Annotated[str, MinLen(1)]
"""A text that is not empty."""


def need_amount(place: str, value: object, *, least: float = 0, most: float = inf, whole: bool = False) -> None:
    """Nothing, for a number in the range.

    Args:
        place: what the number is, as in `Budget.cost`.
        value: it, whatever somebody wrote.
        least: the least that it may be.
        most: the most that it may be.
        whole: true when it must be a whole number.

    Raises:
        ConfigurationError: when it is not a number, or out of the range.
    """
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not (fits and isinstance(value, int | float) and least <= value <= most):
        kind = "a whole number" if whole else "a number"
        span = f"from {least:g} up" if most >= FINITE else f"from {least:g} to {most:g}"
        raise ConfigurationError(f"{place} is {value!r}; it must be {kind} {span}")
