"""Rules over named calls, which are the tool calls of an agent or the tasks of an ensemble: no planner chooses them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeAlias

from tactician.planning.expressions import RULE_PREFIX, Expression, evaluate, parse_expression
from tactician.planning.model import Action, Goal
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import Literals
from tactician.planning.ruling.contradictions import find_contradiction
from tactician.planning.ruling.naming import ExpressionNames, list_action_names, list_event_names
from tactician.planning.ruling.progress import RuleBook, RuleProgress
from tactician.planning.world import UNKNOWN, ConditionValue, WorldState
from tactician.suggestions import find_closest

ArgumentNames: TypeAlias = Mapping[str, Collection[str] | None]
"""Names of the arguments of calls; `None` for a call that takes others too."""
_NAME: Final = re.compile(r"[\w.-]+(?: [\w.-]+)*")
_OPERATORS: Final = frozenset({"and", "or", "not", "in", "is"})


class CallNames(ExpressionNames):
    """Vocabulary of rules over calls: a name is a tool or a task, all else is an expression over a call's arguments."""

    def find_actions(self, name: str) -> frozenset[str]:
        """Return the name of a tool or a task."""
        is_name = _NAME.fullmatch(name) is not None and _OPERATORS.isdisjoint(name.split())
        return frozenset({name} if is_name else ())

    def read_name(self, text: str, *, holds: bool) -> tuple[Literals, ...]:
        """Return the condition that a tool or a task has succeeded, or that an argument is true."""
        return ({text: holds},) if " " not in text and self.find_actions(text) else ()

    def read_expression(self, condition: str, *, holds: bool) -> Literals:
        """Return the condition that an expression is true, or that it is false."""
        return {condition: holds}


@lru_cache(128)
def _resolve(rules: tuple[Rule, ...]) -> tuple[RuleBook, Mapping[str, Expression]]:
    names = CallNames()
    return RuleBook(rules, names), names.expressions


def resolve_calls(rules: tuple[Rule, ...]) -> RuleBook:
    """Return the book of rules over calls."""
    return _resolve(rules)[0]


def find_call_mistakes(
    rules: Iterable[Rule], names: Collection[str], arguments: ArgumentNames | None = None, *, is_complete: bool
) -> Iterator[str]:
    """Yield a sentence for each name in a rule that is no tool or task, and in a condition no argument either.

    Args:
        rules: the rules
        names: the names of the tools or tasks
        arguments: the names of the arguments of each, as far as they are known; without it, conditions are about names
        is_complete: False when there may be others: then only names that are almost right are mistakes
    """
    vocabulary = CallNames()
    for rule in rules:
        events = [text for text in list_event_names(rule) if text not in _list_conditions(rule)]
        for text in (*list_action_names(rule), *events):
            if text in names:
                continue
            if (closest := find_closest(text, names)) is not None:
                yield f"rule {rule}: no tool or task {text!r}; did you mean {closest!r}?"
            elif is_complete:
                yield f"rule {rule}: no tool or task {text!r}; there are {', '.join(names) or 'none'}"
        for text in _list_conditions(rule):
            try:
                vocabulary.find_conditions(text)
            except ValueError as error:
                yield f"rule {rule}: {text!r} is no expression: {error}"
                continue
            yield from _find_unknown_arguments(rule, text, names, arguments or {}, is_complete=is_complete)


def find_shared_mistakes(rules: Iterable[Rule], names: Collection[str], arguments: ArgumentNames) -> Iterator[str]:
    """Yield a sentence for each name in a condition of a rule of the platform that is almost an argument or a call."""
    for rule in rules:
        for text in _list_conditions(rule):
            yield from _find_unknown_arguments(rule, text, names, arguments, is_complete=False)


def _find_unknown_arguments(
    rule: Rule, text: str, names: Collection[str], arguments: ArgumentNames, *, is_complete: bool
) -> Iterator[str]:
    """Yield a sentence for each name in a condition that is neither an argument of the ruled calls nor a call."""
    ruled = [arguments.get(action) for action in list_action_names(rule)] if arguments else [()]
    if text in names or None in ruled:
        return
    expected = sorted({*names, *(name for each in ruled for name in each or ())})
    for name in sorted(parse_expression(text).names.difference(expected)):
        if (closest := find_closest(name, expected)) is not None:
            yield f"rule {rule}: nothing is called {name!r}; did you mean {closest!r}?"
        elif is_complete:
            yield f"rule {rule}: nothing is called {name!r}; there are {', '.join(expected) or 'none'}"


def find_call_contradiction(rules: tuple[Rule, ...], names: Iterable[str]) -> str | None:
    """Return a sentence about the smallest set of rules that no sequence of calls can meet; `None` without such a set.

    Args:
        rules: the rules, in which every name was checked
        names: the names of the tools or tasks
    """
    named = dict.fromkeys((*names, *(text for rule in rules for text in list_action_names(rule))))
    calls = [Action(name, {}, {name: True}) for name in named]
    contrary = find_contradiction(list(resolve_calls(rules).rules), calls, [Goal("an answer", {})], named)
    if not contrary:
        return None
    if len(contrary) == 1:
        return f"the rule {contrary[0]} can never be met"
    return f"the rules {', '.join(map(str, contrary))} contradict each other: no calls meet them all"


def _list_conditions(rule: Rule) -> list[str]:
    """Return the conditions of `never`, the only part of a rule over calls that may be an expression."""
    parts = [text for part in rule.parts for text in _list_conditions(part)]
    when = rule.arguments.get("when")
    return [*parts, *(map(str.strip, when.split("|")) if isinstance(when, str) else ())]


def select_rules(rules: Iterable[Rule], names: Collection[str]) -> tuple[Rule, ...]:
    """Return the rules that speak of at least one of these tools, tasks or actions."""
    known = frozenset(names)
    return tuple(rule for rule in rules if not known.isdisjoint((*list_action_names(rule), *list_event_names(rule))))


def share_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules as rules of a platform.

    Raises:
        ValueError: a condition is no expression
    """
    shared, names = tuple(replace(rule, is_shared=True) for rule in rules), CallNames()
    for rule in shared:
        for text in list_event_names(rule):
            if text in _list_conditions(rule) or not names.find_actions(text):
                names.find_conditions(text)
    return shared


class RuleGuard:
    """Guard of the calls of a run: it knows which may start, and what is owed at the end.

    Args:
        rules: the rules
        began: the time at which the run began
        saved: what `to_data` returned, for a run that continues
    """

    __slots__ = ("_began", "_book", "_done", "_expressions", "_progress", "_running", "_timers")

    def __init__(self, rules: tuple[Rule, ...], began: float, saved: Mapping[str, object] | None = None) -> None:
        self._book, self._expressions = _resolve(rules)
        self._running = Counter[str]()
        data = saved or {}
        self._began = _read_number(data.get("began"), began)
        self._done = list(map(str, done)) if isinstance(done := data.get("done"), list) else []
        timers, states = data.get("timers"), data.get("states")
        saved_timers = timers if isinstance(timers, Mapping) else {}
        self._timers = {str(text): _read_number(at, began) for text, at in saved_timers.items()}
        progress = self._book.replay(self._done, self._build_world({}))
        stored = states if isinstance(states, Mapping) else {}
        numbers = [stored.get(str(ruled.rule), number) for ruled, number in progress]
        self._progress = replace(progress, states=tuple(int(number) for number in numbers))

    def to_data(self) -> dict[str, object]:
        """Return what the guard has seen, as data that has a JSON form."""
        states = {str(ruled.rule): number for ruled, number in self._progress}
        return {"began": self._began, "done": list(self._done), "timers": dict(self._timers), "states": states}

    def find_refusals(
        self, name: str, arguments: Mapping[str, object], names: Collection[str], now: float
    ) -> list[Rule]:
        """Return the rules that a call would break if it started now, whether or not those that run succeed.

        Args:
            name: the tool or the task
            arguments: its arguments, for conditions
            names: the names of all tools or tasks; an argument of such a name is no condition
            now: the time
        """
        arguments = {key: value for key, value in arguments.items() if key not in names}
        progress = self._progress.end_deadlines(dict(self._timers), self._began, now)
        return progress.find_refusals(
            Action(name, {}, {name: True}), self._build_world(arguments), self._running.elements()
        )

    def start(self, name: str) -> None:
        """Note that a call starts."""
        self._running[name] += 1

    def end(self, name: str, now: float, *, has_succeeded: bool) -> None:
        """Note that a call has ended."""
        self._running -= Counter({name: 1})
        progress = self._progress.end_deadlines(self._timers, self._began, now)
        if has_succeeded:
            self._done.append(name)
            progress = progress.after(name, None, self._build_world({}))
        self._progress = progress.end_deadlines(self._timers, now, now)

    def find_broken(self, now: float) -> list[Rule]:
        """Return the rules that are broken, as their time is over."""
        return self._look(now).broken

    def find_owed(self, now: float) -> list[Rule]:
        """Return the rules that ask for something before the run may end."""
        return self._look(now).open

    def _look(self, now: float) -> RuleProgress:
        return self._progress.end_deadlines(dict(self._timers), self._began, now)

    def _build_world(self, arguments: Mapping[str, object]) -> WorldState:
        """Return the world: which calls have succeeded, and the conditions on arguments."""
        named = dict.fromkeys(self._list_named(), False)
        flags = {name: value for name, value in arguments.items() if name in named and isinstance(value, bool)}
        judged = {name: _judge(expression, arguments) for name, expression in self._expressions.items()}
        return WorldState({**named, **flags, **judged, **dict.fromkeys(self._done, True)})

    def _list_named(self) -> Iterable[str]:
        return (name for name in self._book.conditions if not name.startswith(RULE_PREFIX))


def _judge(expression: Expression, arguments: Mapping[str, object]) -> ConditionValue:
    """Return whether an expression over arguments is true; unknown where one is missing or of a wrong type."""
    try:
        return bool(evaluate(expression.tree, arguments))
    except Exception:  # a comparison of values that a model has chosen
        return UNKNOWN


def _read_number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default
