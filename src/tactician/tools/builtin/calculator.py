"""Calculator."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tactician.errors import ToolError
from tactician.tools.function import tool

Number: TypeAlias = int | float
MAX_LENGTH: Final = 10_000
"""Characters of an expression."""
MAX_DEPTH: Final = 50
"""Nested parentheses, signs and powers."""
MAX_BITS: Final = 10_000
"""Bits of a whole number, which are about 3,000 digits."""
_MAX_DIGITS: Final = 3_000
_MAX_FACTORIAL: Final = 1_000
_MAX_PLACES: Final = 300
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|//|[-+*/%^(),]))"
)
_SIGNS: Final = str.maketrans({"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-"})
_CONSTANTS: Final[Mapping[str, float]] = {"pi": math.pi, "e": math.e, "tau": math.tau}
_OPERATORS: Final[Mapping[str, Callable[[Number, Number], object]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def calculate(expression: str) -> Number:
    """Return the value of an expression, as Python computes it.

    Raises:
        ToolError: when the expression is not valid, has no real value, or is too long or too large.
    """
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"The expression is longer than {MAX_LENGTH:,} characters: compute it in parts.")
    try:
        return _Parser(_split(expression.translate(_SIGNS))).parse()
    except ZeroDivisionError as error:
        raise ToolError("The expression divides by zero.") from error
    except OverflowError as error:
        raise ToolError("A number in the expression is too large.") from error
    except (ValueError, TypeError) as error:
        raise ToolError(f"The expression has no value: {error}.") from error


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def _split(expression: str) -> list[_Token]:
    tokens, place, end = [], 0, len(expression.rstrip())
    while place < end:
        if (match := _TOKEN.match(expression, place)) is None:
            rest = expression[place:].lstrip()
            place = len(expression) - len(rest) + 1
            raise ToolError(f"The expression has {rest[:1]!r} at character {place}, which stands for nothing.")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind) + 1))
        place = match.end()
    return tokens


class _Parser:
    """Recursive descent over the tokens; each method returns the value of what it has read."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def parse(self) -> Number:
        value = self._sum()
        if self._next < len(self._tokens):
            raise self._create_error("an operator")
        return value

    def _sum(self) -> Number:
        value = self._product()
        while sign := self._take("+", "-"):
            value = _apply(_OPERATORS[sign], value, self._product())
        return value

    def _product(self) -> Number:
        value = self._parse_signed()
        while sign := self._take("*", "//", "/", "%"):
            value = _apply(_OPERATORS[sign], value, self._parse_signed())
        return value

    def _parse_signed(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ToolError(f"The expression is nested more than {MAX_DEPTH} levels deep: compute it in parts.")
        sign = self._take("-", "+")
        value = self._power() if sign is None else self._parse_signed()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Number:
        base = self._atom()
        if self._take("**", "^"):
            return _apply(_raise_to_power, base, self._parse_signed())
        return base

    def _atom(self) -> Number:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is not None and token.kind == "number":
            self._next += 1
            return _read_number(token.text)
        if token is not None and token.kind == "name":
            self._next += 1
            return self._parse_named(token.text)
        if self._take("("):
            value = self._sum()
            self._expect(")")
            return value
        raise self._create_error("a number")

    def _parse_named(self, name: str) -> Number:
        if not self._take("("):
            if name in _CONSTANTS:
                return _CONSTANTS[name]
            raise ToolError(f"There is no {name!r}. Constants: {', '.join(_CONSTANTS)}; functions need parentheses.")
        if (function := _FUNCTIONS.get(name)) is None:
            raise ToolError(f"There is no function {name!r}. Functions: {', '.join(_FUNCTIONS)}.")
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._expect(")")
        return _apply(function, *values)

    def _take(self, *signs: str) -> str | None:
        """Return the next token and go past it, if it is among the signs."""
        if self._next < len(self._tokens):
            kind, text, _ = self._tokens[self._next]
            if kind == "sign" and text in signs:
                self._next += 1
                return text
        return None

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._create_error(repr(sign))

    def _create_error(self, expected: str) -> ToolError:
        if self._next >= len(self._tokens):
            return ToolError(f"The expression ends where {expected} should follow.")
        _, text, place = self._tokens[self._next]
        return ToolError(f"The expression has {text[:20]!r} at character {place}, where {expected} should be.")


def _read_number(text: str) -> Number:
    if not text.isdecimal():
        return _check(float(text))
    if len(text) > _MAX_DIGITS:
        raise OverflowError
    return int(text)


def _apply(function: Callable[..., object], *values: Number) -> Number:
    result = function(*values)
    if not isinstance(result, int | float):  # a root of a negative number
        raise ValueError("it is not a real number")  # noqa: TRY004 - a complex number is no wrong type
    return _check(result)


def _check(value: Number) -> Number:
    """Return a number that is within the limits.

    Raises:
        OverflowError: when it is not.
    """
    if value.bit_length() > MAX_BITS if isinstance(value, int) else not math.isfinite(value):
        raise OverflowError
    return value


def _raise_to_power(base: Number, exponent: Number) -> object:
    is_whole = isinstance(base, int) and isinstance(exponent, int) and exponent > 0
    if is_whole and abs(base) > 1 and (int(base).bit_length() - 1) * exponent > MAX_BITS:
        raise OverflowError
    return base**exponent


def _compute_factorial(value: Number) -> int:
    if value > _MAX_FACTORIAL:
        raise OverflowError
    if value < 0 or value != int(value):
        raise ValueError("factorial takes a whole number from 0 up")
    return math.factorial(int(value))


def _round(value: Number, places: Number = 0) -> Number:
    if places != int(places) or abs(places) > _MAX_PLACES:
        raise ValueError(f"round takes a whole number of places, at most {_MAX_PLACES}")
    return round(value, int(places)) if places else round(value)


def _find_smallest(*values: Number) -> Number:
    return min(values)


def _find_largest(*values: Number) -> Number:
    return max(values)


def _sum(*values: Number) -> Number:
    return sum(values)


_FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {
    "abs": abs,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": _find_smallest,
    "max": _find_largest,
    "sum": _sum,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "degrees": math.degrees,
    "radians": math.radians,
    "factorial": _compute_factorial,
}


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
