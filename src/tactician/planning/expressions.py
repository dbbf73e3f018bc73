"""Expressions in `pre` and in rules: a small, safe subset of Python over the blackboard, and its evaluation.

There are names, attributes and items, constants, comparisons, `and`, `or` and `not`, arithmetic, tuples and lists, and
calls of `len`, `any`, `all` and `isinstance`. No other call, no attribute with an underscore in front, no assignment.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Final, TypeAlias, cast

from tactician.frozen import frozen
from tactician.grammar import add_article

PREFIX: Final = "expr:"
RULE_PREFIX: Final = "rule expr: "
"""Beginning of the names of expressions in rules, which are unknown, and not false, while an object is missing."""
LONGEST: Final = 500
DEEPEST: Final = 20
FUNCTIONS: Final = ("len", "any", "all", "isinstance")

_PLAIN = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Attribute, ast.Subscript, ast.Tuple, ast.List),
    *(ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.Compare, ast.cmpop),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
)


_Scope: TypeAlias = Mapping[str, object]

_COMPARISONS: Mapping[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, many: item in many,
    ast.NotIn: lambda item, many: item not in many,
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[..., object]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_NUMBERS = (int, float, Decimal, Fraction, timedelta)
_CODE = (
    *(type, FunctionType, MethodType, ModuleType, GeneratorType, CoroutineType, AsyncGeneratorType),
    *(FrameType, CodeType, TracebackType),
)


class ExpressionError(ValueError):
    """Error for a text that is not a valid expression."""


@frozen
class Expression:
    """Expression that was checked to be safe.

    Attributes:
        text: the source text.
        tree: the syntax tree.
        names: the names of the objects that it uses.
    """

    text: str
    tree: ast.expr
    names: frozenset[str]


def is_expression(condition: str) -> bool:
    """Return whether a condition is an expression instead of a name."""
    return condition.startswith(PREFIX)


def is_of_rule(condition: str) -> bool:
    """Return whether a condition is an expression in a rule."""
    return condition.startswith(RULE_PREFIX)


def strip_prefix(condition: str) -> str:
    """Return the text of an expression whose name a condition is."""
    return condition.removeprefix(RULE_PREFIX).removeprefix(PREFIX).strip()


def parse_expression(text: str) -> Expression:
    """Parse an expression, with or without the prefix `expr:`.

    Raises:
        ExpressionError: when it is none, or not safe.
    """
    source = text.removeprefix(PREFIX).strip()
    if len(source) > LONGEST:
        raise ExpressionError(f"it has {len(source)} characters, and may have {LONGEST}")
    try:
        tree = _parse(source)
        names = frozenset(_collect_names(tree.body, frozenset(), 0))
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply") from error
    if not names:
        raise ExpressionError("it reads no object, so its value never changes")
    return Expression(text, tree.body, names)


def _parse(source: str) -> ast.Expression:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse(source, mode="eval")
    except (SyntaxError, ValueError, Warning, MemoryError) as error:  # the last where brackets are nested too deeply
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
        raise ExpressionError(f"it is not a Python expression: {reason}") from error


def _collect_names(node: ast.AST, local: frozenset[str], depth: int) -> Iterator[str]:
    """Return the names that are used, except loop variables.

    Raises:
        ExpressionError: at the first thing that is not safe.
    """
    if depth > DEEPEST:
        raise ExpressionError("it is nested too deeply")
    if isinstance(node, ast.Call):
        yield from _collect_call_names(node, local, depth)
        return
    if not isinstance(node, _PLAIN):
        raise ExpressionError(f"{_format_node(node)} is not allowed in it")
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise ExpressionError(f"the attribute {node.attr!r} is private")
    if isinstance(node, ast.Name):
        if node.id.startswith("_"):
            raise ExpressionError(f"the name {node.id!r} is private")
        if node.id not in local:
            yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _collect_names(child, local, depth + 1)


def _collect_call_names(node: ast.Call, local: frozenset[str], depth: int) -> Iterator[str]:
    function = node.func.id if isinstance(node.func, ast.Name) else None
    if function not in FUNCTIONS:
        raise ExpressionError(f"{_format_node(node.func)} cannot be called; only {', '.join(FUNCTIONS)} can")
    if node.keywords or len(node.args) != (2 if function == "isinstance" else 1):
        raise ExpressionError(f"{_format_node(node)}: {function} is not called like this")
    first, *rest = node.args
    if isinstance(first, ast.GeneratorExp) and function in ("any", "all"):
        yield from _collect_loop_names(first, local, depth + 1)
    else:
        yield from _collect_names(first, local, depth + 1)
    for classes in rest:
        kinds = classes.elts if isinstance(classes, ast.Tuple) else [classes]
        if not all(isinstance(kind, ast.Name) for kind in kinds):
            raise ExpressionError(f"{_format_node(node)}: the second argument must be the name of a class, or several")


def _collect_loop_names(loop: ast.GeneratorExp, local: frozenset[str], depth: int) -> Iterator[str]:
    first, *others = loop.generators
    if others or first.is_async or not isinstance(first.target, ast.Name):
        raise ExpressionError(f"{_format_node(loop)}: only a single `for` with a single name is allowed")
    if first.target.id.startswith("_"):
        raise ExpressionError(f"the name {first.target.id!r} is private")
    yield from _collect_names(first.iter, local, depth + 1)
    for inner in (*first.ifs, loop.elt):
        yield from _collect_names(inner, local | {first.target.id}, depth + 1)


def _format_node(node: ast.AST) -> str:
    return repr(ast.unparse(node)) if isinstance(node, ast.expr) else type(node).__name__


def evaluate(node: ast.expr, scope: Mapping[str, object]) -> object:
    """Return the value of the tree of an expression, where names stand for these values.

    Raises:
        Exception: any that an attribute or a comparison of the values raises.
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return scope[name]
        case ast.Attribute(value=inner, attr=name):
            return _read_attribute(evaluate(inner, scope), name)
        case ast.Subscript(value=inner, slice=key):
            return operator.getitem(cast("Mapping[object, object]", evaluate(inner, scope)), evaluate(key, scope))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(evaluate(element, scope) for element in elements)
        case ast.BoolOp(op=op, values=values):
            return _evaluate_bool_op(isinstance(op, ast.And), values, scope)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](evaluate(operand, scope))
        case ast.BinOp(left=left, op=op, right=right):
            return _evaluate_arithmetic(op, evaluate(left, scope), evaluate(right, scope))
        case ast.Compare():
            return _evaluate_comparison(node, scope)
        case _:
            return _evaluate_call(node, scope)


def _read_attribute(value: object, name: str) -> object:
    if isinstance(value, _CODE):
        raise TypeError(f"{name!r} of {add_article(str(type(value).__name__))} cannot be read")
    return getattr(value, name)


def _evaluate_bool_op(all_of: bool, values: Sequence[ast.expr], scope: _Scope) -> object:
    value: object = all_of
    for node in values:
        value = evaluate(node, scope)
        if bool(value) is not all_of:
            return value
    return value


def _evaluate_arithmetic(op: ast.operator, left: object, right: object) -> object:
    # A text or a list times a number could fill the memory.
    if isinstance(op, ast.Mult | ast.Mod) and not (isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)):
        raise TypeError("only numbers can be multiplied and divided")
    return _ARITHMETIC[type(op)](left, right)


def _evaluate_comparison(node: ast.Compare, scope: _Scope) -> object:
    left, result = evaluate(node.left, scope), cast("object", True)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(comparator, scope)
        result = _COMPARISONS[type(op)](left, right)
        if not result:
            return result
        left = right
    return result


def _evaluate_call(node: ast.expr, scope: _Scope) -> object:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    function, argument = node.func.id, node.args[0]
    if function == "isinstance":
        return _is_instance(evaluate(argument, scope), node.args[1])
    if function == "len":
        return len(cast("Sized", evaluate(argument, scope)))
    many = _evaluate_loop(argument, scope) if isinstance(argument, ast.GeneratorExp) else evaluate(argument, scope)
    return (any if function == "any" else all)(cast("Iterable[object]", many))


def _is_instance(value: object, classes: ast.expr) -> bool:
    """Compare by the names of the value's classes, so that the classes need not be imported."""
    own = {base.__name__ for base in type(value).__mro__}
    kinds = classes.elts if isinstance(classes, ast.Tuple) else [classes]
    return any(isinstance(kind, ast.Name) and kind.id in own for kind in kinds)


def _evaluate_loop(loop: ast.GeneratorExp, scope: _Scope) -> Iterator[object]:
    (generator,) = loop.generators
    assert isinstance(generator.target, ast.Name)
    for value in cast("Iterable[object]", evaluate(generator.iter, scope)):
        inner = {**scope, generator.target.id: value}
        if all(evaluate(condition, inner) for condition in generator.ifs):
            yield evaluate(loop.elt, inner)
