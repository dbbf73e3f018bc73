"""Arithmetic in steps: the tools of the group `math`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tactician.errors import ToolError
from tactician.tools.function import tool

Numbers = Annotated[Sequence[float], Field(min_length=1, max_length=10_000)]


class MathTools:
    """Tools for arithmetic."""

    @tool
    def add(self, a: float, b: float) -> float:
        """Add two numbers."""
        return _check(a + b)

    @tool
    def subtract(self, a: float, b: float) -> float:
        """Subtract the second number from the first."""
        return _check(a - b)

    @tool
    def multiply(self, a: float, b: float) -> float:
        """Multiply two numbers."""
        return _check(a * b)

    @tool
    def divide(self, a: float, b: float) -> float:
        """Divide the first number by the second."""
        if b == 0:
            raise ToolError("A number cannot be divided by 0.")
        return _check(a / b)

    @tool
    def mean(self, numbers: Numbers) -> float:
        """Return the mean of numbers."""
        return _check(math.fsum(numbers) / len(numbers))

    @tool
    def min(self, numbers: Numbers) -> float:
        """Return the smallest number."""
        return min(numbers)

    @tool
    def max(self, numbers: Numbers) -> float:
        """Return the largest number."""
        return max(numbers)

    @tool
    def floor(self, number: float) -> float:
        """Round a number down to an integer."""
        return math.floor(_check(number))

    @tool
    def ceiling(self, number: float) -> float:
        """Round a number up to an integer."""
        return math.ceil(_check(number))

    @tool
    def round(self, number: float, digits: Annotated[int, Field(ge=-300, le=300)] = 0) -> float:
        """Round a number.

        Args:
            number: the number
            digits: number of digits after the decimal point
        """
        return round(_check(number), digits)


def _check(result: float) -> float:
    """Return a result that JSON can write.

    Raises:
        ToolError: when it is infinite, or not a number.
    """
    if not math.isfinite(result):
        raise ToolError("The numbers are too large.")
    return result
