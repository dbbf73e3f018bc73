"""Names in rules: actions, conditions, types of objects, and expressions over the blackboard."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from tactician.agents.planned.condition_names import ConditionNames
from tactician.agents.planned.expressions import RULE_PREFIX, Expression, ExpressionError, parse_expression
from tactician.agents.planned.methods import NOT, Declarations
from tactician.agents.planned.unreachable import suggest_similar
from tactician.planning.rules import Rule
from tactician.planning.ruling.progress import RuleBook

Literals: TypeAlias = Mapping[str, bool]
_MOST_ALTERNATIVES: Final = 32


class RuleNames:
    """Vocabulary of the rules of an agent.

    Attributes:
        expressions: the expressions in the rules, by the names of their conditions.
        needed: the names of all conditions that the rules use.
    """

    def __init__(self, declared: Declarations, words: ConditionNames) -> None:
        self.expressions: dict[str, Expression] = {}
        self.needed: dict[str, None] = {}
        self._actions = {action.name for action in declared.actions}
        self._things = words.things
        self._flags = {*declared.conditions, *(name for action in declared.actions for name in action.post)}

    def find_actions(self, name: str) -> frozenset[str]:
        """Return the actions of this name, or of this method name in a component or a state."""
        short = {action for action in self._actions if action.rpartition(".")[2] == name}
        return frozenset({name} if name in self._actions else short)

    def find_conditions(self, text: str, *, holds: bool = True) -> tuple[Literals, ...]:
        """Return the alternatives of conditions under which the text holds, or does not hold.

        Raises:
            ExpressionError: the text is neither the name of a condition nor a valid expression.
        """
        return self._read_name(text, holds) or self._read_expression(text, holds)

    def _read_name(self, text: str, holds: bool) -> tuple[Literals, ...]:
        name = text.removeprefix(NOT).strip()
        holds = holds is not text.startswith(NOT)
        if name in self._things:
            return (self._need({name: holds}),)
        return (self._need({name if holds else f"{NOT}{name}": True}),) if name in self._flags else ()

    def _read_expression(self, text: str, holds: bool) -> tuple[Literals, ...]:
        expression = parse_expression(text)
        alternatives = self._split(expression.tree, holds)
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
        if isinstance(node, ast.Name) and (named := self._read_name(text, holds)):
            return named
        name = f"{RULE_PREFIX}{text}"
        self.expressions[name] = parse_expression(text)
        return (self._need({name if holds else f"{NOT}{name}": True}),)

    def _need(self, literals: Literals) -> Literals:
        self.needed.update(dict.fromkeys(literals))
        return literals


def _merge(parts: Iterable[Literals]) -> Literals | None:
    merged = dict[str, bool]()
    for part in parts:
        for name, value in part.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged


def resolve_rules(
    rules: Sequence[Rule], declared: Declarations, words: ConditionNames, problems: list[str]
) -> tuple[Declarations, RuleBook | None]:
    """Return the declarations with the conditions that the rules use, and the rules with their names resolved.

    Mistakes are added to `problems`; then nothing is resolved.
    """
    names = RuleNames(declared, words)
    mistakes = list(_find_mistakes(rules, names, declared))
    problems.extend(mistakes)
    if mistakes:
        return declared, None
    book = RuleBook(rules, names)
    demanded = (*declared.demanded, *names.needed)
    return replace(declared, demanded=demanded, expressions={**declared.expressions, **names.expressions}), book


def _find_mistakes(rules: Iterable[Rule], names: RuleNames, declared: Declarations) -> Iterator[str]:
    """Yield a sentence for each name in a rule that the agent does not know."""
    actions = [action.name for action in declared.actions]
    for rule in rules:
        for text in _list_names(rule):
            if names.find_actions(text):
                continue
            try:
                names.find_conditions(text)
            except ExpressionError as error:
                yield f"rule {rule}: {text!r} is no action, no condition and no expression: {error}"
                continue
            if text.isidentifier() and (hint := suggest_similar(text, actions)):
                yield f"rule {rule}: no action {text!r}; {hint}"
        for text in _list_action_names(rule):
            if not names.find_actions(text):
                hint = suggest_similar(text, actions) or f"its actions are {', '.join(actions)}"
                yield f"rule {rule}: no action {text!r}; {hint}"


def _list_names(rule: Rule) -> Iterator[str]:
    """Yield the alternatives of the events of a rule that may be conditions."""
    for part in _list_leaves(rule):
        for name in ("condition", "event", "when", "first", "following"):
            if isinstance(text := part.arguments.get(name), str):
                yield from map(str.strip, text.split("|"))


def _list_action_names(rule: Rule) -> Iterator[str]:
    for part in _list_leaves(rule):
        for name in ("action", "then", "after"):
            if isinstance(text := part.arguments.get(name), str):
                yield from map(str.strip, text.split("|"))


def _list_leaves(rule: Rule) -> Iterator[Rule]:
    if not rule.parts:
        yield rule
    for part in rule.parts:
        yield from _list_leaves(part)
