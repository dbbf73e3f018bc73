"""Expressions in `pre`: a small, safe subset of Python over the blackboard.

There are names, attributes and items, constants, comparisons, `and`, `or` and `not`, arithmetic, tuples and lists, and
calls of `len`, `any`, `all` and `isinstance`. No other call, no attribute with an underscore in front, no assignment.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final

from tactician.frozen import frozen

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
