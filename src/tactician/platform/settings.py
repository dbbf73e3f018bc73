"""Kinds of the settings of a platform: a value of another kind is an error where the platform is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Final

from tactician.errors import ConfigurationError
from tactician.planning import Objective, PlanningBudget
from tactician.planning.rules import Rule
from tactician.planning.ruling.calls import share_rules
from tactician.process import PlanReview


def check_settings(settings: Mapping[str, object]) -> None:
    """Check the settings of a platform, where they are set.

    Raises:
        ConfigurationError: when a value is of another kind than its setting needs.
    """
    for name, value in settings.items():
        fits, advice = _KINDS[name]
        if value is not None and not fits(value):
            raise ConfigurationError(f"Platform: {name} is {value!r}; {advice}")


def read_rules(rules: object) -> tuple[Rule, ...]:
    """Return the rules of a platform.

    Raises:
        ConfigurationError: when it is no list, a value is no rule, or a condition in a rule is no expression.
    """
    if not isinstance(rules, Iterable):
        raise ConfigurationError(f"Platform: rules is {rules}; write a list, as in rules=[rules.before('a', 'b')]")
    given = tuple(rules)
    wrong = [rule for rule in given if not isinstance(rule, Rule)]
    if wrong:
        raise ConfigurationError(f"Platform: rules has {wrong[0]!r}; write rules=[rules.before('a', 'b')]")
    try:
        return share_rules(rule for rule in given if isinstance(rule, Rule))
    except ValueError as error:
        raise ConfigurationError(f"Platform: rules has a condition that is no expression: {error}") from error


def _is_made(method: str) -> Callable[[object], bool]:
    """Return a test for objects with a method; a class is none, as it still has to be called."""
    return lambda value: hasattr(value, method) and not isinstance(value, type)


_KINDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "store": (_is_made("add_step"), "write store=SqliteStore('runs.db'), or another store"),
    "on_event": (callable, "write a function, as in on_event=print"),
    "clock": (_is_made("call_later"), "write clock=FakeClock(), or leave it out"),
    "planning": (lambda value: isinstance(value, PlanningBudget), "write planning=PlanningBudget(time=5.0)"),
    "objective": (lambda value: isinstance(value, Objective), "write objective=Objective.DOLLARS"),
    "plan_review": (lambda value: isinstance(value, PlanReview), "write plan_review=PlanReview(required_role='lead')"),
    "retention": (lambda value: isinstance(value, timedelta), "write retention=timedelta(days=30)"),
}
