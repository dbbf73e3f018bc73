"""Evaluation of expressions on a blackboard."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache

from tactician.loggers import get_logger
from tactician.planning.expressions import Expression, evaluate
from tactician.process import Blackboard, OperationContext

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_logger = get_logger(__name__)


def evaluate_expression(expression: Expression, context: OperationContext) -> bool:
    """Return whether the expression is true now; false while an object is missing or when the evaluation fails."""
    try:
        scope = _find_objects(expression.names, context.blackboard)
        return scope is not None and bool(evaluate(expression.tree, scope))
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
        return bool(evaluate(expression.tree, scope))
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
