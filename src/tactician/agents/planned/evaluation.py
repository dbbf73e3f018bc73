"""Evaluation of expressions on a blackboard."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
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
from typing import TypeAlias, cast

from tactician.agents.planned.expressions import Expression
from tactician.grammar import add_article
from tactician.loggers import get_logger
from tactician.process import Blackboard, OperationContext

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_logger = get_logger(__name__)
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


def evaluate_expression(expression: Expression, context: OperationContext) -> bool:
    """Return whether the expression is true now; false while an object is missing or when the evaluation fails."""
    try:
        scope = _find_objects(expression.names, context.blackboard)
        return scope is not None and bool(_evaluate(expression.tree, scope))
    except Exception as error:  # attributes and comparisons run the code of users
        _logger.warning("%r is false, as it fails: %s: %s", expression.text, type(error).__name__, error)
        return False


def judge_expression(expression: Expression, context: OperationContext) -> bool | None:
    """Return whether an expression in a rule is true now; `None` while that cannot be known.

    A name alone asks whether the object is there. An object whose attributes are compared has to be there.
    """
    try:
        scope = _find_objects(expression.names, context.blackboard)
        if scope is None:
            return False if isinstance(expression.tree, ast.Name) else None
        return bool(_evaluate(expression.tree, scope))
    except Exception as error:  # attributes and comparisons run the code of users
        _logger.warning("%r is unknown, as it fails: %s: %s", expression.text, type(error).__name__, error)
        return None


def list_names(kind: type) -> frozenset[str]:
    """Return the names of an instance in expressions: `paid_bill` and `bill` for a `PaidBill(Bill)`."""
    return frozenset(snake_case(base.__name__) for base in kind.__mro__[:-1])


@lru_cache(1024)
def snake_case(name: str) -> str:
    """Return a class name in snake case: `paid_bill` for `PaidBill`."""
    return _WORD.sub("_", name).lower()


def _find_objects(names: Iterable[str], blackboard: Blackboard) -> dict[str, object] | None:
    """Return the object for each name; `None` when any is missing."""
    values: dict[str, object] = {}
    for name in names:
        if name in blackboard:
            values[name] = blackboard[name]
            continue
        fitting = (value for value in reversed(blackboard.objects) if name in list_names(type(value)))
        if (value := next(fitting, None)) is None:
            return None
        values[name] = value
    return values


def _evaluate(node: ast.expr, scope: _Scope) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return scope[name]
        case ast.Attribute(value=inner, attr=name):
            return _read_attribute(_evaluate(inner, scope), name)
        case ast.Subscript(value=inner, slice=key):
            return operator.getitem(cast("Mapping[object, object]", _evaluate(inner, scope)), _evaluate(key, scope))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(_evaluate(element, scope) for element in elements)
        case ast.BoolOp(op=op, values=values):
            return _evaluate_bool_op(isinstance(op, ast.And), values, scope)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_evaluate(operand, scope))
        case ast.BinOp(left=left, op=op, right=right):
            return _evaluate_arithmetic(op, _evaluate(left, scope), _evaluate(right, scope))
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
        value = _evaluate(node, scope)
        if bool(value) is not all_of:
            return value
    return value


def _evaluate_arithmetic(op: ast.operator, left: object, right: object) -> object:
    # A text or a list times a number could fill the memory.
    if isinstance(op, ast.Mult | ast.Mod) and not (isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)):
        raise TypeError("only numbers can be multiplied and divided")
    return _ARITHMETIC[type(op)](left, right)


def _evaluate_comparison(node: ast.Compare, scope: _Scope) -> object:
    left, result = _evaluate(node.left, scope), cast("object", True)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = _evaluate(comparator, scope)
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
        return _is_instance(_evaluate(argument, scope), node.args[1])
    if function == "len":
        return len(cast("Sized", _evaluate(argument, scope)))
    many = _evaluate_loop(argument, scope) if isinstance(argument, ast.GeneratorExp) else _evaluate(argument, scope)
    return (any if function == "any" else all)(cast("Iterable[object]", many))


def _is_instance(value: object, classes: ast.expr) -> bool:
    """Compare by the names of the value's classes, so that the classes need not be imported."""
    base_names = {base.__name__ for base in type(value).__mro__}
    kinds = classes.elts if isinstance(classes, ast.Tuple) else [classes]
    return any(isinstance(kind, ast.Name) and kind.id in base_names for kind in kinds)


def _evaluate_loop(loop: ast.GeneratorExp, scope: _Scope) -> Iterator[object]:
    (generator,) = loop.generators
    assert isinstance(generator.target, ast.Name)
    for value in cast("Iterable[object]", _evaluate(generator.iter, scope)):
        inner = {**scope, generator.target.id: value}
        if all(_evaluate(condition, inner) for condition in generator.ifs):
            yield _evaluate(loop.elt, inner)
