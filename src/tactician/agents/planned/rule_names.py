"""Names in the rules of a planned agent: actions, conditions, types of objects, and expressions over the blackboard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tactician.agents.planned.condition_names import ConditionNames
from tactician.agents.planned.evaluation import snake_case
from tactician.agents.planned.methods import NOT, Declarations
from tactician.agents.planned.unreachable import find_unknown_in_rules
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import Literals
from tactician.planning.ruling.naming import ExpressionNames, find_mistakes, list_event_names
from tactician.planning.ruling.progress import RuleBook


class RuleNames(ExpressionNames):
    """Vocabulary of the rules of an agent.

    Attributes:
        needed: the names of all conditions that the rules use.
    """

    def __init__(self, declared: Declarations, words: ConditionNames) -> None:
        super().__init__()
        self.needed: dict[str, None] = {}
        self._actions = {action.name for action in declared.actions}
        self._things = words.things
        self._flags = {*declared.conditions, *(name for action in declared.actions for name in action.post)}

    def find_actions(self, name: str) -> frozenset[str]:
        """Return the actions of this name, or of this method name in a component or a state."""
        short = {action for action in self._actions if action.rpartition(".")[2] == name}
        return frozenset({name} if name in self._actions else short)

    def is_object(self, name: str) -> bool:
        """Return whether expressions find an object by this name."""
        return any(snake_case(thing.rpartition(": ")[2]) == name for thing in self._things)

    def read_name(self, text: str, *, holds: bool) -> tuple[Literals, ...]:
        """Return the condition of a name of a thing or a flag, or its opposite."""
        name = text.removeprefix(NOT).strip()
        holds = holds is not text.startswith(NOT)
        if name in self._things:
            return (self._need({name: holds}),)
        return (self._need({name if holds else f"{NOT}{name}": True}),) if name in self._flags else ()

    def read_expression(self, condition: str, *, holds: bool) -> Literals:
        """Return the condition that an expression is true, or that it is false: both are evaluated."""
        return self._need({condition if holds else f"{NOT}{condition}": True})

    def _need(self, literals: Literals) -> Literals:
        self.needed.update(dict.fromkeys(literals))
        return literals


def resolve_rules(
    rules: Sequence[Rule], declared: Declarations, words: ConditionNames, problems: list[str]
) -> tuple[Declarations, RuleBook | None]:
    """Return the declarations with the conditions that the rules use, and the rules with their names resolved.

    Mistakes are added to `problems`; then nothing is resolved.
    """
    names = RuleNames(declared, words)
    mistakes = list(find_mistakes(rules, names, [action.name for action in declared.actions]))
    mistakes = mistakes or [problem for rule in rules for problem in _find_unknown(rule, declared, words)]
    problems.extend(mistakes)
    if mistakes:
        return declared, None
    book = RuleBook(rules, names)
    demanded = (*declared.demanded, *names.needed)
    return replace(declared, demanded=demanded, expressions={**declared.expressions, **names.expressions}), book


def _find_unknown(rule: Rule, declared: Declarations, words: ConditionNames) -> Iterator[str]:
    """Yield a sentence for each name in the expressions of a rule that no object has.

    A rule of a platform is for many agents: there, only names that are almost right are mistakes.
    """
    names = RuleNames(declared, words)
    for text in list_event_names(rule):
        if not names.find_actions(text):
            names.find_conditions(text)
    for problem in find_unknown_in_rules(names.expressions.values(), declared, words):
        if not rule.is_shared or "did you mean" in problem:
            yield f"rule {rule}: {problem}"
