"""Names in rules: the parts of expressions that name conditions, and mistakes in names."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from itertools import product
from typing import Final

from tactician.planning.expressions import RULE_PREFIX, Expression, ExpressionError, parse_expression
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import Literals
from tactician.suggestions import find_closest

_MOST_ALTERNATIVES: Final = 32


class ExpressionNames(ABC):
    """Vocabulary in which a condition may be an expression.

    Attributes:
        expressions: the expressions in the rules, by the names of their conditions
    """

    def __init__(self) -> None:
        self.expressions: dict[str, Expression] = {}

    @abstractmethod
    def find_actions(self, name: str) -> frozenset[str]:
        """Return the actions of this name; none when it is the name of a condition."""

    def is_object(self, name: str) -> bool:
        """Return whether expressions find an object by this name."""
        return False

    @abstractmethod
    def read_name(self, text: str, *, holds: bool) -> tuple[Literals, ...]:
        """Return the alternatives under which the condition of this name holds, or not; none when it names none."""

    @abstractmethod
    def read_expression(self, condition: str, *, holds: bool) -> Literals:
        """Return the condition that an expression is true, or that it is false."""

    def find_conditions(self, text: str, *, holds: bool = True) -> tuple[Literals, ...]:
        """Return the alternatives of conditions under which the text holds, or does not hold.

        Raises:
            ExpressionError: the text is neither the name of a condition nor a valid expression
        """
        if named := self.read_name(text, holds=holds):
            return named
        alternatives = self._split(parse_expression(text).tree, holds)
        if len(alternatives) > _MOST_ALTERNATIVES:
            raise ExpressionError(f"it has more than {_MOST_ALTERNATIVES} alternatives")
        return tuple(alternatives)

    def _split(self, node: ast.expr, holds: bool) -> list[Literals]:
        """Return the alternatives of an expression: `and`, `or` and `not` are planned with, all else is evaluated."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._split(node.operand, not holds)
        if not isinstance(node, ast.BoolOp):
            return list(self._read_part(node, holds))
        parts = [self._split(value, holds) for value in node.values]
        if isinstance(node.op, ast.And) is not holds:
            return [alternative for part in parts for alternative in part]
        combined = (_merge(choice) for choice in product(*parts))
        return [literals for literals in combined if literals is not None]

    def _read_part(self, node: ast.expr, holds: bool) -> tuple[Literals, ...]:
        text = ast.unparse(node)
        if isinstance(node, ast.Name) and (named := self.read_name(text, holds=holds)):
            return named
        name = f"{RULE_PREFIX}{text}"
        self.expressions[name] = parse_expression(text)
        return (self.read_expression(name, holds=holds),)


def _merge(parts: Iterable[Literals]) -> Literals | None:
    merged = dict[str, bool]()
    for part in parts:
        for name, value in part.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged


def find_mistakes(rules: Iterable[Rule], names: ExpressionNames, actions: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each name in a rule that means nothing.

    Args:
        rules: the rules
        names: the vocabulary
        actions: the names of all actions, for suggestions
    """
    for rule in rules:
        if rule.is_shared:
            continue
        for text in _list_texts(rule, _EVENTS):
            if names.find_actions(text):
                continue
            try:
                names.find_conditions(text)
            except ExpressionError as error:
                yield f"rule {rule}: {text!r} is no action, no condition and no expression: {error}"
                continue
            if text.isidentifier() and not names.is_object(text) and (closest := find_closest(text, actions)):
                yield f"rule {rule}: no action {text!r}; did you mean {closest!r}?"
        for text in list_action_names(rule):
            if not names.find_actions(text):
                closest = find_closest(text, actions)
                hint = f"did you mean {closest!r}?" if closest else f"its actions are {', '.join(actions) or 'none'}"
                yield f"rule {rule}: no action {text!r}; {hint}"


_EVENTS: Final = ("condition", "event", "when", "first", "following")
_ACTIONS: Final = ("action", "then", "after")


def list_action_names(rule: Rule) -> list[str]:
    """Return the names in a rule that only actions can have."""
    return list(_list_texts(rule, _ACTIONS))


def list_event_names(rule: Rule) -> list[str]:
    """Return the names and expressions in a rule that may be actions or conditions."""
    return list(_list_texts(rule, _EVENTS))


def _list_texts(rule: Rule, arguments: Collection[str]) -> Iterator[str]:
    """Yield the alternatives in these arguments of the parts of a rule."""
    for part in rule.parts:
        yield from _list_texts(part, arguments)
    for name in arguments:
        if isinstance(text := rule.arguments.get(name), str):
            yield from map(str.strip, text.split("|"))
