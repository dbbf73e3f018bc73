"""Contradictions: the smallest set of rules under which no goal can be reached, whatever the world is like.

The search keeps the states of the automata and which actions have run. Every other condition may hold or not at any
time, so that what is found holds in each world: no agent that can work is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Final, TypeAlias

from tactician.planning.model import Action, Goal
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import DEAD, Acts, Holds, Outside, Runs
from tactician.planning.ruling.ruled_actions import RuledRule
from tactician.planning.world import UNKNOWN, ConditionValue, WorldState

_LARGEST_SET: Final = 3
_MOST_FREE: Final = 4
_MOST_STATES: Final = 2_000
_MOST_SETS: Final = 500
_State: TypeAlias = tuple[tuple[int, ...], frozenset[str]]


def find_contradiction(
    rules: Sequence[RuledRule], actions: Sequence[Action], goals: Sequence[Goal], sure: Collection[str]
) -> tuple[Rule, ...]:
    """Return the smallest set of rules under which no goal can be reached; nothing when there is no such set.

    Sets of up to 3 rules are tried.

    Args:
        rules: the rules; preferences do not count
        actions: the actions
        goals: the goals
        sure: the conditions that are false at the beginning of each run, and change by actions only
    """
    hard = [rule for rule in rules if rule.rule.penalty is None]
    if not goals or not hard or not _Check((), actions, goals, frozenset(sure)).is_reachable():
        return ()
    tried = 0
    for size in range(1, _LARGEST_SET + 1):
        for chosen in combinations(hard, size):
            if size > 1 and not _is_connected(chosen):
                continue
            if (tried := tried + 1) > _MOST_SETS:
                return ()
            if not _Check(chosen, actions, goals, frozenset(sure)).is_reachable():
                return tuple(rule.rule for rule in chosen)
    return ()


def _is_connected(rules: Sequence[RuledRule]) -> bool:
    """Return whether the rules speak of common things, so that they can contradict each other together."""
    topics = [_list_topics(rule) for rule in rules]
    joined, left = topics[0], topics[1:]
    while near := [topic for topic in left if not joined.isdisjoint(topic)]:
        joined = joined.union(*near)
        left = [topic for topic in left if topic not in near]
    return not left


def _list_topics(rule: RuledRule) -> frozenset[str]:
    topics = set[str]()
    for atom in rule.automaton.atoms:
        match atom:
            case Runs():
                topics |= atom.actions
            case Acts():
                topics.add("any action")
            case Holds() | Outside():
                topics.update(name.removeprefix("not ") for literals in atom.conditions for name in literals)
    return frozenset(topics)


@dataclass(frozen=True)
class _Check:
    """Search for a run that keeps some rules."""

    rules: Sequence[RuledRule]
    actions: Sequence[Action]
    goals: Sequence[Goal]
    sure: frozenset[str]

    def is_reachable(self) -> bool:
        """Return whether a goal can be reached; True as well where the search would be too large."""
        if len(self._before) + len(self._after) > _MOST_FREE:
            return True
        states = list(dict.fromkeys(self._begin()))
        seen = set(states)
        for state in states:  # grows as it goes
            if self._is_end(state) or len(states) > _MOST_STATES:
                return True
            for following in self._continue(state):
                if following not in seen:
                    seen.add(following)
                    states.append(following)
        return False

    @cached_property
    def _before(self) -> tuple[str, ...]:
        """The conditions in the rules that may hold or not before a step."""
        return self._list_free(Outside)

    @cached_property
    def _after(self) -> tuple[str, ...]:
        """The conditions in the rules that may hold or not after a step."""
        return self._list_free(Holds)

    def _list_free(self, kind: type[Holds | Outside]) -> tuple[str, ...]:
        atoms = (atom for rule in self.rules for atom in rule.automaton.atoms)
        literals = (each for atom in atoms if isinstance(atom, kind) for each in atom.conditions)
        return tuple(dict.fromkeys(name for each in literals for name in each if name not in self.sure))

    @cached_property
    def _relevant(self) -> tuple[Action, ...]:
        """The actions that the rules or the goals speak of; all others can be left out of a run."""
        atoms = (atom for rule in self.rules for atom in rule.automaton.atoms)
        named = {name for atom in atoms if isinstance(atom, Runs) for name in atom.actions}
        needed = {name for goal in self.goals for name, holds in goal.conditions.items() if holds}
        relevant = dict[str, Action]()
        while fresh := [a for a in self.actions if a.name not in relevant and self._is_relevant(a, named, needed)]:
            relevant.update({action.name: action for action in fresh})
            needed.update(name for action in fresh for name, holds in action.pre.items() if holds and name in self.sure)
        return tuple(relevant.values())

    def _is_relevant(self, action: Action, named: set[str], needed: set[str]) -> bool:
        return action.name in named or any(name in needed and name in self.sure for name in action.effects)

    def _begin(self) -> Iterator[_State]:
        for values in _vary(self._after, {}):
            yield from self._step((0,) * len(self.rules), None, {}, values, frozenset(), frozenset())

    def _continue(self, state: _State) -> Iterator[_State]:
        numbers, done = state
        for values in _vary(self._after, {}):  # somebody changes the world
            yield from self._step(numbers, None, {}, values, done, done)
        for action in self._relevant:
            if any((name in done) is not holds for name, holds in action.pre.items() if name in self.sure):
                continue
            ran = {name: holds for name, holds in action.effects.items() if name in self.sure}
            then = (done | {name for name in ran if ran[name]}) - {name for name in ran if not ran[name]}
            for before in _vary(self._before, action.pre):
                for after in _vary(self._after, action.effects):
                    yield from self._step(numbers, action.name, before, after, done, then)

    def _step(
        self,
        numbers: tuple[int, ...],
        action: str | None,
        before: Mapping[str, ConditionValue],
        after: Mapping[str, ConditionValue],
        done: frozenset[str],
        then: frozenset[str],
    ) -> Iterator[_State]:
        first = WorldState({**before, **{name: name in done for name in self.sure}})
        last = WorldState({**after, **{name: name in then for name in self.sure}})
        following = tuple(
            rule.automaton.read(number, action, first, last) for rule, number in zip(self.rules, numbers, strict=True)
        )
        if DEAD not in following:
            yield following, then

    def _is_end(self, state: _State) -> bool:
        numbers, done = state
        if not all(n in rule.automaton.accepting for n, rule in zip(numbers, self.rules, strict=True)):
            return False
        return any(
            all((name in done) is holds for name, holds in goal.conditions.items() if name in self.sure)
            for goal in self.goals
        )


def _vary(names: Sequence[str], given: Mapping[str, bool]) -> Iterator[dict[str, ConditionValue]]:
    """Yield all values of conditions, where some are given."""
    fixed: dict[str, ConditionValue] = {name: given[name] for name in names if name in given}
    open_names = [name for name in names if name not in given]
    choices: tuple[ConditionValue, ...] = (True, False, UNKNOWN)
    for values in product(choices, repeat=len(open_names)):
        varied = {**fixed, **dict(zip(open_names, values, strict=True))}
        if not any(value is True and varied.get(f"not {name}") is True for name, value in varied.items()):
            yield varied
