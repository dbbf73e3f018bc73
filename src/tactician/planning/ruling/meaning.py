"""Meaning of each kind of rule: its automaton.

The semantics are those of PDDL3's trajectory constraints (Gerevini et al. 2009), on the finite trace s0 a1 s1 ... an sn
of a run, where only successful actions count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import timedelta
from typing import Final, Protocol

from tactician.frozen import frozen
from tactician.planning.rules import Kind, Rule
from tactician.planning.ruling.automaton import Acts, Atom, Automaton, Holds, Literals, Outside, Runs, Truth


class RuleVocabulary(Protocol):
    """ActionNames that rules may use: it knows which of them are actions."""

    def find_actions(self, name: str) -> frozenset[str]:
        """Return the actions of this name; none when it is the name of a condition."""

    def find_conditions(self, text: str, *, holds: bool = True) -> tuple[Literals, ...]:
        """Return the alternatives of conditions under which the condition of this text holds, or does not hold."""


class ActionNames:
    """RuleVocabulary of a planner: a name that is no action is a condition, and `not x` is its opposite."""

    def __init__(self, actions: frozenset[str]) -> None:
        self._actions = actions

    def find_actions(self, name: str) -> frozenset[str]:
        """Return the action of this name, if any."""
        return frozenset({name}) & self._actions

    def find_conditions(self, text: str, *, holds: bool = True) -> tuple[Literals, ...]:
        """Return the condition of this name, or its opposite."""
        return ({text.removeprefix("not ").strip(): holds is not text.startswith("not ")},)


def build_automaton(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    """Return the automaton of a rule.

    Raises:
        ValueError: the rule is too large
    """
    return _BUILDERS[rule.kind](rule, vocabulary)


@frozen
class _Atoms:
    """The atoms of an event: of its actions and of its conditions."""

    runs: Runs
    holds: Holds

    def both(self) -> tuple[Atom, Atom]:
        return self.runs, self.holds


def _read(event: object, vocabulary: RuleVocabulary, *, unseen: bool = False) -> _Atoms:
    """Read an event: each alternative is an action or a condition."""
    if isinstance(event, Mapping):
        return _Atoms(Runs(frozenset()), Holds((event,), unseen))
    actions, conditions = frozenset[str](), list[Literals]()
    for name in map(str.strip, str(event).split("|")):
        named = vocabulary.find_actions(name)
        actions |= named
        if not named:
            conditions.extend(vocabulary.find_conditions(name))
    return _Atoms(Runs(actions), Holds(tuple(conditions), unseen))


def _read_actions(event: object, vocabulary: RuleVocabulary) -> Runs:
    """Read the names of actions; a name that is not offered never runs."""
    return Runs(frozenset().union(*(vocabulary.find_actions(name.strip()) for name in str(event).split("|"))))


def _always(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    holds = _read(rule.arguments["condition"], vocabulary, unseen=True).holds
    return Automaton.build(
        (holds,), 0, lambda state, truth: 0 if truth[0] else None, lambda state: True, lambda state: {0: True}
    )


def _sometime(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    event = _read(rule.arguments["event"], vocabulary)
    return Automaton.build(
        event.both(), False, lambda seen, truth: seen is True or any(truth), lambda seen: seen is True, _not_yet
    )


def _never(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    runs = _read_actions(rule.arguments["action"], vocabulary)
    atoms: tuple[Atom, ...] = (runs, *_read_outside(rule.arguments.get("when"), vocabulary))

    def step(state: Hashable, truth: Truth) -> Hashable | None:
        return None if truth[0] and not (truth[1:] and all(truth[1:])) else 0

    return Automaton.build(atoms, 0, step, lambda state: True)


def _read_outside(when: object, vocabulary: RuleVocabulary) -> Iterator[Outside]:
    """Yield that each alternative of a condition is known not to hold."""
    if isinstance(when, Mapping):
        yield Outside(tuple({name: not value} for name, value in when.items()))
    elif when is not None:
        for text in str(when).split("|"):
            yield Outside(vocabulary.find_conditions(text.strip(), holds=False))


def _before(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    first = _read(rule.arguments["first"], vocabulary)
    then = _read_actions(rule.arguments["then"], vocabulary)

    def step(state: Hashable, truth: Truth) -> Hashable | None:
        if truth[2] and state is False:
            return None
        return state is True or truth[0] or truth[1]

    return Automaton.build((*first.both(), then), False, step, lambda state: True, _not_yet)


def _after(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    action = _read_actions(rule.arguments["action"], vocabulary)
    following = _read(rule.arguments["following"], vocabulary)

    def step(is_pending: Hashable, truth: Truth) -> Hashable:
        runs, holds, begins = truth
        # An action is not later than itself, but the state after it is.
        return not holds if begins else is_pending is True and not (runs or holds)

    return Automaton.build((*following.both(), action), False, step, lambda is_pending: is_pending is False)


def _at_most(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    most, runs = rule.arguments["count"], _read_actions(rule.arguments["action"], vocabulary)

    def step(count: Hashable, truth: Truth) -> Hashable | None:
        if not truth[0]:
            return count
        return None if count == most else _next(count)

    return Automaton.build((runs,), 0, step, lambda count: True)


def _at_least(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    least, runs = rule.arguments["count"], _read_actions(rule.arguments["action"], vocabulary)

    def step(count: Hashable, truth: Truth) -> Hashable:
        return _next(count) if truth[0] and count != least else count

    return Automaton.build((runs,), 0, step, lambda count: count == least)


def _within(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    event = _read(rule.arguments["event"], vocabulary)
    limit, begin = rule.arguments["limit"], rule.arguments.get("after")
    most = None if isinstance(limit, timedelta) else limit
    if begin is None:
        return _within_from_start(event, most)
    return _within_from_each(event, most, _read_actions(begin, vocabulary))


_REACHED: Final = "reached"


def _within_from_start(event: _Atoms, most: object) -> Automaton:
    """States are the number of actions so far."""

    def step(count: Hashable, truth: Truth) -> Hashable | None:
        runs, holds, acts = truth
        if count == _REACHED or runs or holds:
            return _REACHED
        return _advance(count, most) if acts else count

    return Automaton.build((*event.both(), Acts()), 0, step, lambda count: count == _REACHED, _holds_not)


def _within_from_each(event: _Atoms, most: object, begin: Runs) -> Automaton:
    """States are the number of actions since the first `begin` that is not served; `_REACHED` when all are."""

    def step(count: Hashable, truth: Truth) -> Hashable | None:
        runs, holds, begins = truth
        if runs or holds:
            count = _REACHED
        if begins and count == _REACHED:
            return _REACHED if holds else 0
        return count if count == _REACHED else _advance(count, most)

    return Automaton.build((*event.both(), begin), _REACHED, step, lambda count: count == _REACHED)


def _holds_not(count: Hashable) -> Mapping[int, bool]:
    return {} if count == _REACHED else {1: False}


def _advance(count: Hashable, most: object) -> Hashable | None:
    """Count an action, up to the last that could still be the event."""
    if most is None:
        return 0
    following = _next(count)
    return None if following == most else following


def _next(count: Hashable) -> int:
    assert isinstance(count, int)
    return count + 1


def _not_yet(state: Hashable) -> Mapping[int, bool]:
    """Return that no condition of the event holds before it is seen."""
    return {} if state is True else {1: False}


def _all_of(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    return _combine(rule, vocabulary, all)


def _any_of(rule: Rule, vocabulary: RuleVocabulary) -> Automaton:
    return _combine(rule, vocabulary, any)


def _combine(rule: Rule, vocabulary: RuleVocabulary, quantifier: Callable[[list[bool]], bool]) -> Automaton:
    """Return the product of the parts: their states beside each other."""
    parts = [build_automaton(part, vocabulary) for part in rule.parts]
    starts = [sum(len(part.atoms) for part in parts[:number]) for number in range(len(parts))]

    def step(state: Hashable, truth: Truth) -> Hashable | None:
        assert isinstance(state, tuple)
        following = tuple(
            n if n < 0 else part.table[n][truth[start : start + len(part.atoms)]]
            for n, part, start in zip(state, parts, starts, strict=True)
        )
        return following if quantifier([n >= 0 for n in following]) else None

    def accepts(state: Hashable) -> bool:
        assert isinstance(state, tuple)
        return quantifier([n in part.accepting for n, part in zip(state, parts, strict=True)])

    def settles(state: Hashable) -> Mapping[int, bool]:
        assert isinstance(state, tuple)
        return {
            start + atom: truth
            for n, part, start in zip(state, parts, starts, strict=True)
            if n >= 0
            for atom, truth in part.settled[n].items()
        }

    atoms = tuple(atom for part in parts for atom in part.atoms)
    return Automaton.build(atoms, (0,) * len(parts), step, accepts, settles)


_BUILDERS: Final[Mapping[Kind, Callable[[Rule, RuleVocabulary], Automaton]]] = {
    "always": _always,
    "sometime": _sometime,
    "never": _never,
    "before": _before,
    "after": _after,
    "at_most": _at_most,
    "at_least": _at_least,
    "within": _within,
    "all_of": _all_of,
    "any_of": _any_of,
}
