"""Rules about the finite trace of a run, and preferences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tactician.frozen import frozen
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    import ast

Event: TypeAlias = str | Mapping[str, bool]
"""The name of an action or a condition, alternatives such as `"release | pay_out"`, or a mapping of conditions that all
have these values."""
Kind: TypeAlias = Literal[
    "always", "sometime", "never", "before", "after", "at_most", "at_least", "within", "all_of", "any_of"
]


@frozen
class Rule:
    """A rule that each run keeps, or a preference, whose breach has a price.

    The functions of `tactician.planning.rules` make rules.

    Attributes:
        kind: the name of the function that makes it
        arguments: the arguments of this function, by name; those that are None are left out
        penalty: the price of breaking it, in units of cost; None for a rule that is never broken
        is_shared: True for a rule of a platform, which may name what an agent lacks
    """

    kind: Kind
    arguments: Mapping[str, Event | int | timedelta | tuple[Rule, ...]]
    penalty: float | None = None
    is_shared: bool = False

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules that it is made of; none for most."""
        parts = self.arguments.get("rules", ())
        return parts if isinstance(parts, tuple) else ()

    @property
    def is_obligation(self) -> bool:
        """True when the rule may ask for something before the run may end."""
        return self.kind in ("sometime", "after", "at_least", "within") or any(p.is_obligation for p in self.parts)

    @property
    def events(self) -> Iterator[Event]:
        """The names, expressions and mappings in it and in its parts."""
        for argument in self.arguments.values():
            if isinstance(argument, str | Mapping):
                yield argument
        for part in self.parts:
            yield from part.events

    @property
    def seconds(self) -> float | None:
        """The time in which something has to happen, for `within` with a time."""
        limit = self.arguments.get("limit")
        return limit.total_seconds() if isinstance(limit, timedelta) else None

    def to_data(self) -> dict[str, object]:
        """Return the rule as data that has a JSON form: `{"rule": "before", "first": "verify", "then": "pay"}`."""
        arguments = {name: _write_argument(argument) for name, argument in self.arguments.items()}
        return {"rule": self.kind, **arguments, **({} if self.penalty is None else {"penalty": self.penalty})}

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        text = f"{self.kind}({', '.join(_write_arguments(self))})"
        return text if self.penalty is None else f"prefer({text}, penalty={self.penalty:g})"


def _write_arguments(rule: Rule) -> Iterator[str]:
    for name, argument in rule.arguments.items():
        if isinstance(argument, tuple):
            yield from map(str, argument)
        else:
            text = f"{argument.total_seconds():g} s" if isinstance(argument, timedelta) else _write_event(argument)
            yield f"{name}={text}" if name in ("when", "after") else text


def _write_event(event: Event | int) -> str:
    if isinstance(event, Mapping):
        return " and ".join(name if holds else f"not {name}" for name, holds in event.items())
    return str(event)


@suggest_options
def always(condition: Event) -> Rule:
    """Demand that the condition is known to hold in each state of the run, from the first."""
    return _rule("always", condition=_check_event(condition))


@suggest_options
def sometime(event: Event) -> Rule:
    """Demand that the condition holds in some state, or the action succeeds, before a goal counts as reached."""
    return _rule("sometime", event=_check_event(event))


@suggest_options
def never(action: str, when: Event | None = None) -> Rule:
    """Forbid the action where the condition holds, or cannot be known not to hold; without a condition, forbid it."""
    return _rule("never", action=_check_event(action), **({} if when is None else {"when": _check_event(when)}))


@suggest_options
def before(first: Event, then: str) -> Rule:
    """Demand an earlier successful `first` for each `then`, through replans and restarts."""
    return _rule("before", first=_check_event(first), then=_check_event(then))


@suggest_options
def after(action: str, following: Event) -> Rule:
    """Demand a later `following` for each `action` before a goal counts as reached."""
    return _rule("after", action=_check_event(action), following=_check_event(following))


@suggest_options
def at_most(count: int, action: str) -> Rule:
    """Limit how many times the action may succeed."""
    return _rule("at_most", count=_check_count(count, 0), action=_check_event(action))


@suggest_options
def at_least(count: int, action: str) -> Rule:
    """Demand that the action succeeds so many times at least before a goal counts as reached."""
    return _rule("at_least", count=_check_count(count, 1), action=_check_event(action))


@suggest_options
def within(limit: int | timedelta, event: Event, after: str | None = None) -> Rule:
    """Demand the event by the action of this number, or in this time: from the start, or from each action `after`."""
    if isinstance(limit, timedelta):
        if limit <= timedelta(0):
            raise ValueError(f"within: the time must be positive, not {limit}")
    else:
        _check_count(limit, 1)
    options = {} if after is None else {"after": _check_event(after)}
    return _rule("within", limit=limit, event=_check_event(event), **options)


@suggest_options
def all_of(*rules: Rule) -> Rule:
    """Demand that all these rules are kept; as a preference, they are broken together."""
    return _rule("all_of", rules=_check_parts("all_of", rules))


@suggest_options
def any_of(*rules: Rule) -> Rule:
    """Demand that at least one of these rules is kept."""
    return _rule("any_of", rules=_check_parts("any_of", rules))


@suggest_options
def prefer(rule: Rule, penalty: float) -> Rule:
    """Let the rule be broken for a price: a plan that breaks it costs the penalty more, once."""
    value: object = rule
    if not isinstance(value, Rule) or value.penalty is not None:
        raise TypeError(f"prefer takes a rule and its penalty, as prefer(never('pay_out'), 2), not {rule!r}")
    if isinstance(penalty, bool) or not isinstance(penalty, int | float):
        raise TypeError(f"prefer: the penalty must be a number, not {penalty!r}")
    if not (math.isfinite(penalty) and penalty > 0):
        raise ValueError(f"prefer: the penalty must be finite and positive, not {penalty!r}")
    return Rule(rule.kind, rule.arguments, float(penalty))


def _rule(kind: Kind, **arguments: Event | int | timedelta | tuple[Rule, ...]) -> Rule:
    return Rule(kind, arguments)


def _check_event(event: Event) -> Event:
    if isinstance(event, str) and all(part.strip() for part in event.split("|")):
        return event
    if isinstance(event, Mapping) and event and all(isinstance(holds, bool) for holds in event.values()):
        return dict(event)
    raise TypeError(f"a rule is about names, as 'pay_out' and 'a | b', or conditions, as {{'paid': True}}: {event!r}")


def _check_count(count: int, least: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"a number of actions must be a whole number, not {count!r}")
    if count < least:
        raise ValueError(f"a number of actions must be {least} or more, not {count}")
    return count


def _check_parts(name: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    if len(rules) < 2 or not all(isinstance(rule, Rule) for rule in rules):
        raise TypeError(f"{name} takes two or more rules")
    if any(rule.penalty is not None or rule.seconds is not None for rule in rules):
        raise ValueError(f"{name} combines rules without penalties and times")
    return rules


@suggest_options
def from_data(data: object) -> Rule:
    """Return the rule of such data as `Rule.to_data` returns.

    Raises:
        TypeError: the data is no rule.
        ValueError: an argument is out of range.
    """
    if not isinstance(data, Mapping) or data.get("rule") not in _MAKERS:
        raise TypeError(f"a rule is an object such as {{'rule': 'before', 'first': 'a', 'then': 'b'}}, not {data!r}")
    arguments = {str(name): value for name, value in data.items() if name not in ("rule", "penalty")}
    if isinstance(limit := arguments.get("limit"), Mapping):
        arguments["limit"] = timedelta(seconds=limit["seconds"])
    parts = arguments.pop("rules", ())
    made = _MAKERS[data["rule"]](*map(from_data, parts), **arguments)
    return made if data.get("penalty") is None else prefer(made, data["penalty"])


@suggest_options
def parse_rule(text: str) -> Rule:
    """Return the rule in a text such as `before("verify", "pay_out")`, whose arguments are texts and numbers.

    Raises:
        ValueError: the text is no rule.
    """
    import ast

    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _MAKERS):
            raise TypeError(f"its functions are {', '.join(_MAKERS)}")
        values = [_read_argument(argument) for argument in call.args]
        return _MAKERS[call.func.id](*values, **{str(k.arg): _read_argument(k.value) for k in call.keywords})
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no rule, such as before('verify', 'pay_out'): {error}") from error


def _read_argument(node: ast.expr) -> object:
    import ast

    try:
        return ast.literal_eval(node)
    except ValueError:
        text = ast.unparse(node)
        raise ValueError(f"{text} is no text and no number; write {text!r}, in quotation marks") from None


def _write_argument(argument: Event | int | timedelta | tuple[Rule, ...]) -> object:
    if isinstance(argument, tuple):
        return [rule.to_data() for rule in argument]
    if isinstance(argument, timedelta):
        return {"seconds": argument.total_seconds()}
    return dict(argument) if isinstance(argument, Mapping) else argument


_MAKERS: Final[Mapping[str, Callable[..., Rule]]] = {
    maker.__name__: maker
    for maker in (always, sometime, never, before, after, at_most, at_least, within, all_of, any_of)
}
