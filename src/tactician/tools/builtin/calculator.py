"""Calculator."""

from __future__ import annotations

from tactician.tools.builtin.arithmetic import Number, calculate
from tactician.tools.function import tool


@tool
def calculator(expression: str) -> Number:
    """Compute an arithmetic expression. Whole numbers are exact.

    It may have the operators + - * / // % ** (or ^ for powers), parentheses, the constants pi, e and tau, and the
    functions abs, round, floor, ceil, min, max, sum, sqrt, exp, log, log10, log2, sin, cos, tan, asin, acos, atan,
    degrees, radians and factorial. Angles are in radians.

    Args:
        expression: the expression, such as (17.5 - 3) * 2 ** 8
    """
    return calculate(expression)
