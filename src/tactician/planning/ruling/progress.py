"""Progress of a run with its rules, and the actions that they refuse."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tactician.frozen import frozen
from tactician.planning.model import Action
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import DEAD, Holds, Outside
from tactician.planning.ruling.meaning import ActionNames, RuleVocabulary, build_automaton
from tactician.planning.ruling.ruled_actions import RuledActions, RuledRule
from tactician.planning.world import ConditionValue, WorldState

_SEQUENCES_REMEMBERED = 8


class RuleBook:
    """Rules whose names are resolved: what all runs under these rules share.

    Args:
        rules: the rules
        vocabulary: tells which names are actions

    Raises:
        ValueError: a rule is too large
    """

    def __init__(self, rules: Iterable[Rule], vocabulary: RuleVocabulary) -> None:
        distinct = dict.fromkeys(rules)  # a rule that several places demand is kept once
        self.rules = tuple(
            RuledRule(rule, build_automaton(rule, vocabulary), number) for number, rule in enumerate(distinct, start=1)
        )
        self._written: OrderedDict[tuple[int, ...], RuledActions] = OrderedDict()

    def only(self, rules: Sequence[RuledRule]) -> RuleBook:
        """Return a book of some of the rules."""
        book = RuleBook((), ActionNames(frozenset()))
        book.rules = tuple(rules)
        return book

    @classmethod
    def of_actions(cls, rules: Iterable[Rule], actions: Iterable[str]) -> RuleBook:
        """Return rules about actions of these names; each other name is that of a condition."""
        return cls(rules, ActionNames(frozenset(actions)))

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions in the rules."""
        atoms = (atom for rule in self.rules for atom in rule.automaton.atoms)
        literals = (each for atom in atoms if isinstance(atom, Holds | Outside) for each in atom.conditions)
        return tuple(dict.fromkeys(name for condition in literals for name in condition))

    def write(self, actions: Sequence[Action]) -> RuledActions:
        """Return the actions under these rules; what was written last is remembered.

        Raises:
            ValueError: the rules give an action too many forms
        """
        ids = tuple(map(id, actions))
        if (written := self._written.get(ids)) is None:
            written = self._written[ids] = RuledActions(self.rules, actions)
            if len(self._written) > _SEQUENCES_REMEMBERED:
                self._written.popitem(last=False)
        self._written.move_to_end(ids)
        return written

    def begin(self, world: WorldState | None) -> RuleProgress:
        """Return the state of a run that begins in this world; None for a world that is not known."""
        states = tuple(rule.automaton.read(0, None, None, world) for rule in self.rules)
        return RuleProgress(self, states, is_beginning=True)

    def replay(self, history: Sequence[str], world: WorldState | None) -> RuleProgress:
        """Return the state after these successful actions, which have led to this world."""
        progress = self.begin(None if history else world)
        for number, action in enumerate(history, start=1):
            progress = progress.after(action, None, world if number == len(history) else None)
        return progress


@frozen
class RuleProgress:
    """State of each rule after some steps of a run.

    Attributes:
        book: the rules
        states: a number for each rule; negative for a rule that is broken
        is_beginning: True before the first action
    """

    book: RuleBook
    states: tuple[int, ...]
    is_beginning: bool = False

    def after(self, action: str | None, before: WorldState | None, after: WorldState | None) -> RuleProgress:
        """Return the state after a successful action, or after a change without any; None for an unknown world."""
        return RuleProgress(self.book, tuple(rule.automaton.read(state, action, before, after) for rule, state in self))

    def __iter__(self) -> Iterator[tuple[RuledRule, int]]:
        """Return the rules, each with its state."""
        return zip(self.book.rules, self.states, strict=True)

    @property
    def broken(self) -> list[Rule]:
        """The rules that are broken, without preferences."""
        return [rule.rule for rule, state in self._hard() if state == DEAD]

    @property
    def open(self) -> list[Rule]:
        """The rules that ask for something before the run may end, without preferences."""
        return [rule.rule for rule, state in self._hard() if state not in rule.automaton.accepting]

    def find_refusals(self, action: Action, world: WorldState, running: Iterable[str] = ()) -> list[Rule]:
        """Return the rules that the action would break if it started now and had its effects.

        Args:
            action: the action
            world: the world now
            running: the names of actions that run meanwhile: they may succeed or not, in any order
        """
        refusals = dict[Rule, None]()
        for outcome, left in self._find_outcomes(tuple(sorted(running))):
            then = outcome.after(action.name, world, world.apply(action))
            ends = [end for end, _ in then._find_outcomes(left)] if left else [then]
            refusals.update(dict.fromkeys(rule for end in ends for rule in end.broken))
        return list(refusals)

    def _find_outcomes(self, running: tuple[str, ...]) -> Iterator[tuple[RuleProgress, tuple[str, ...]]]:
        """Yield the states after some of the running actions have succeeded, each with the actions that still run."""
        open_outcomes, seen = [(self, running)], set[tuple[tuple[int, ...], tuple[str, ...]]]()
        while open_outcomes:
            progress, left = open_outcomes.pop()
            if (progress.states, left) in seen:
                continue
            seen.add((progress.states, left))
            yield progress, left
            open_outcomes += [(progress.after(name, None, None), _drop(left, n)) for n, name in enumerate(left)]

    def end_deadlines(self, timers: dict[str, float], since: float, now: float) -> RuleProgress:
        """Return the progress in which the rules with a time that is over are broken.

        Args:
            timers: the times at which the open rules began to wait, by the texts of the rules; they are updated
            since: the time at which a rule without a timer began to wait
            now: the time
        """
        numbers = list(self.states)
        for position, (ruled, number) in enumerate(self):
            limit, text = ruled.rule.seconds, str(ruled.rule)
            if limit is None or number in ruled.automaton.accepting:
                timers.pop(text, None)
            elif now > timers.setdefault(text, since) + limit:
                numbers[position] = DEAD
        return replace(self, states=tuple(numbers))

    @property
    def first_penalty(self) -> float:
        """The price of the preferences that the world breaks before the first action."""
        if not self.is_beginning:
            return 0.0
        return sum(rule.rule.penalty or 0.0 for rule, state in self if state == DEAD)

    @property
    def conditions(self) -> Mapping[str, ConditionValue]:
        """The states as conditions of the world."""
        return {name: value for rule, state in self for name, value in rule.write(state).items()}

    def _hard(self) -> Iterator[tuple[RuledRule, int]]:
        for rule, state in self:
            if rule.rule.penalty is None:
                yield rule, state


def _drop(names: tuple[str, ...], position: int) -> tuple[str, ...]:
    return (*names[:position], *names[position + 1 :])
