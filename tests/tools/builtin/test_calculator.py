"""The calculator computes as Python does, and no expression costs much time or memory."""

from __future__ import annotations

import ast
import math
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tactician.errors import ToolError
from tactician.tools import calculator
from tests.tools.builtin.support import call, refuse


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("2 ^ 10", 1024),
        ("2 ** -1", 0.5),
        ("7 // 2 + 7 % 2", 4),
        ("-7 // 2", -4),
        (".5 + 1. + 1e3", 1001.5),
        ("--3", 3),
        ("3 × 4 ÷ 2 − 1", 5),  # noqa: RUF001
        ("sqrt(16) + abs(-2)", 6),
        ("max(1, 2, 3) - min(1, 2)", 2),
        ("sum(1, 2, 3) / 3", 2),
        ("min(7) + max(2) + sum(1)", 10),
        ("factorial(6 / 2)", 6),
        ("round(2.567, 4 / 2)", 2.57),
        ("round(2.567, 2)", 2.57),
        ("floor(2.9) + ceil(2.1)", 5),
        ("factorial(20)", math.factorial(20)),
        ("log(e)", 1),
        ("log(8, 2)", 3),
        ("sin(pi / 2)", 1),
        ("degrees(tau)", 360),
        (" 1 ", 1),
    ],
)
def test_an_expression_has_its_value(expression: str, value: float) -> None:
    assert calculator(expression) == value


def test_whole_numbers_are_exact() -> None:
    assert calculator("2 ** 200 + 1") == 2**200 + 1


async def test_the_model_reads_the_number_as_text() -> None:
    assert await call(calculator, expression="10 / 4") == "2.5"
    assert await call(calculator, expression="3 ** 100") == str(3**100)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "ends where a number"),
        ("1 +", "ends where a number"),
        ("(1", r"ends where '\)'"),
        ("1 2", "'2' at character 3, where an operator"),
        ("1 + * 2", r"'\*' at character 5, where a number"),
        ("2 $ 3", r"'\$' at character 3"),
        ("x + 1", "There is no 'x'. Constants: pi"),
        ("sqrt + 1", "There is no 'sqrt'"),
        ("exec(1)", "There is no function 'exec'. Functions: abs"),
        ("sqrt()", r"'\)' at character 6, where a number"),
        ("sqrt(1, 2)", "has no value"),
        ("1 / 0", "divides by zero"),
        ("0 ** -1", "divides by zero"),
        ("7 % 0", "divides by zero"),
        ("(-8) ** 0.5", "not a real number"),
        ("sqrt(-1)", "has no value"),
        ("log(0)", "has no value"),
        ("factorial(2.5)", "factorial takes a whole number"),
        ("factorial(-1)", "factorial takes a whole number from 0 up"),
        ("round(1.5, 0.5)", "round takes a whole number of places"),
        ("round(1.5, 301)", "at most 300"),
        ("1e999", "too large"),
        ("1e308 * 10", "too large"),
        ("10 ** 400 / 3.0", "too large"),
    ],
)
def test_what_has_no_value_says_why(expression: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        calculator(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "9 ** 9 ** 9 ** 9",
        "10 ** 100000000",
        "2 ** 10000 * 2 ** 10000",
        "factorial(100000)",
        "factorial(factorial(50))",
        "9" * 5_000,
        "round(5, -999999999)",
        "1e308 ** 1e308",
        "(" * 5_000,
        "-" * 9_000 + "1",
        "2**" * 3_000 + "2",
        "sqrt(" * 2_000,
        "1+" * 6_000 + "1",
    ],
)
def test_what_would_cost_much_is_refused(expression: str) -> None:
    with pytest.raises(ToolError):
        calculator(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "__import__('os')",
        "'a' * 10",
        "[1]",
        "{}",
        "lambda: 1",
        "1 if 1 else 2",
        "a := 1",
        "1; 2",
        "0x10",
        "1j",
    ],
)
def test_python_is_not_evaluated(expression: str) -> None:
    with pytest.raises(ToolError):
        calculator(expression)


async def test_a_long_expression_is_refused_with_what_to_do() -> None:
    assert "compute it in parts" in await refuse(calculator, expression="1" * 10_001)


SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
_NUMBERS = st.one_of(st.integers(0, 10**6).map(str), st.floats(0, 1e6, allow_nan=False, allow_infinity=False).map(repr))
_EXPRESSIONS = st.recursive(
    _NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(" ".join),
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(inner, st.integers(0, 9)).map(lambda pair: f"({pair[0]}) ** {pair[1]}"),
        inner.map("abs({})".format),
        st.tuples(inner, inner).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    ),
    max_leaves=12,
)


def compute_with_python(node: ast.expr) -> float:
    """Compute an expression as Python does, but refuse what is too large on the way."""
    parts = [compute_with_python(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    match node:
        case ast.BinOp(op=operator):
            value = eval(f"a {SIGNS[type(operator)]} b", {"a": parts[0], "b": parts[1]})
        case ast.UnaryOp():
            value = -parts[0]
        case ast.Call(func=ast.Name(id=name)):
            value = eval(name)(*parts[1:])
        case ast.Constant(value=constant):
            value = constant
        case _:
            return 0
    if isinstance(value, complex) or not (abs(value) < 2**10_000 if isinstance(value, int) else math.isfinite(value)):
        raise OverflowError
    assert isinstance(value, int | float)
    return value


@given(_EXPRESSIONS)
@example("1 - - 1")
@example("2 ** 3 ** 2")
@example("-0.0")
def test_every_expression_has_the_value_that_python_gives_it(expression: str) -> None:
    try:
        expected = compute_with_python(ast.parse(expression, mode="eval").body)
    except ArithmeticError:
        with pytest.raises(ToolError):
            calculator(expression)
        return
    found = calculator(expression)
    assert (found, type(found), str(found)) == (expected, type(expected), str(expected))


@given(st.text(alphabet="0123456789.eE+-*/%^(), abmxsqrt", max_size=80))
def test_any_text_has_a_value_or_a_reason(text: str) -> None:
    with suppress(ToolError):
        value = calculator(text)
        assert math.isfinite(value) if isinstance(value, float) else value.bit_length() <= 10_000


@given(st.integers(-(10**50), 10**50), st.integers(-(10**50), 10**50))
def test_sums_and_products_of_large_numbers_are_exact(first: int, second: int) -> None:
    assert calculator(f"({first}) * ({second}) + ({first})") == first * second + first
    if second:
        quotient, rest = calculator(f"({first}) // ({second})"), calculator(f"({first}) % ({second})")
        assert Fraction(quotient) * second + Fraction(rest) == first
