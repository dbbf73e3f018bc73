"""Rules as conditions: actions that carry the states of automata, so that each planner keeps the rules.

The state of a rule is a set of conditions, of which exactly 1 holds. An action that a rule cares about becomes
several, for each way in which the state may change, and a goal requires a state in which the run may end (as in
Gerevini and Long 2005). A preference has a further state, in which it is broken and paid for (as in Keyder and Geffner
2009). Actions that no rule cares about stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from tactician.frozen import frozen
from tactician.planning.model import Action, Amount, Goal
from tactician.planning.rules import Rule
from tactician.planning.ruling.automaton import DEAD, Acts, Atom, Automaton, Holds, Literals, Outside, Runs
from tactician.planning.world import ConditionValue, WorldState

_MOST_FORMS: Final = 2_000
PAID: Final = "paid"
"""The state of a preference that is broken, once its penalty is counted."""

_Target: TypeAlias = int | str
_Move: TypeAlias = tuple[frozenset[tuple[str, bool]], _Target | None, float]
"""Conditions before an action, the next state (None for the same), and the penalty."""


@frozen
class RuledForm:
    """A way in which an action can run under the rules.

    Attributes:
        pre: further conditions before it
        effects: further conditions after it
        penalty: the price of the preferences that it breaks
    """

    pre: Literals
    effects: Literals
    penalty: float = 0.0


@frozen
class RuledRule:
    """A rule whose state is written as conditions.

    Attributes:
        rule: the rule
        automaton: its meaning
        number: number of the rule, which tells the conditions of equal rules apart
    """

    rule: Rule
    automaton: Automaton
    number: int

    @property
    def states(self) -> Sequence[_Target]:
        """The states that it may be in."""
        paid = [] if self.rule.penalty is None else [PAID]
        return [*range(len(self.automaton.table)), *paid]

    def condition(self, state: _Target) -> str:
        """Return the name of the condition that this is the state."""
        return f"rule {self.number}, {self.rule}: {state}"

    @property
    def names(self) -> Sequence[str]:
        """The names of the conditions of its states."""
        return [self.condition(state) for state in self.states]

    def write(self, state: int) -> Mapping[str, ConditionValue]:
        """Return the state as conditions; a preference that is broken is paid for."""
        current: _Target = PAID if state == DEAD else state
        return {self.condition(each): each == current for each in self.states}

    def refuse(self, states: Iterable[_Target]) -> Literals:
        """Return the condition that the state is none of these."""
        return {self.condition(state): False for state in states}

    @property
    def at_the_end(self) -> Literals:
        """The condition under which the run may end."""
        return self.refuse(n for n in range(len(self.automaton.table)) if n not in self.automaton.accepting)

    def find_forms(self, action: Action) -> list[RuledForm]:
        """Return the ways in which the action can run, as far as this rule goes."""
        moves = dict[_Move, set[_Target]]()
        for state in range(len(self.automaton.table)):
            for guard, target in self._find_moves(state, action):
                paid = target == DEAD
                if paid and self.rule.penalty is None:
                    continue
                price = self.rule.penalty or 0.0 if paid else 0.0
                key = frozenset(guard.items()), PAID if paid else target, price
                moves.setdefault(key, set()).add(state)
        if self.rule.penalty is not None:
            moves.setdefault((frozenset(), PAID, 0.0), set()).add(PAID)
        return [self._write_form(*key, origins) for key, origins in _join(moves)]

    def _write_form(
        self, guard: frozenset[tuple[str, bool]], target: _Target | None, penalty: float, origins: set[_Target]
    ) -> RuledForm:
        pre = {**dict(guard), **self.refuse(state for state in self.states if state not in origins)}
        if target is None:
            return RuledForm(pre, {}, penalty)
        effects = {self.condition(state): False for state in origins if state != target}
        return RuledForm(pre, {**effects, self.condition(target): True}, penalty)

    def _find_moves(self, state: int, action: Action) -> Iterator[tuple[Literals, int]]:
        """Return the next states, each with the conditions before the action under which it follows."""
        settled, row = self.automaton.settled[state], self.automaton.table[state]
        choices = [_find_truths(atom, action, settled.get(number)) for number, atom in enumerate(self.automaton.atoms)]
        for choice in product(*choices):
            guards = [guard for _, guard in choice]
            if (guard := _merge(guards)) is not None:
                yield guard, row[tuple([truth for truth, _ in choice])]


def _find_truths(atom: Atom, action: Action, settled: bool | None) -> list[tuple[bool, Literals]]:
    """Return the truths that the atom can have after the action, each with the conditions before it.

    What a rule does not see never does harm, so the opposite of a condition needs no conditions.
    """
    match atom:
        case Runs():
            return [(action.name in atom.actions, {})]
        case Acts():
            return [(True, {})]
        case Outside():
            return [(False, {}), *((True, condition) for condition in atom.conditions)]
        case Holds():
            return _find_truths_after(atom, action, settled)


def _find_truths_after(atom: Holds, action: Action, settled: bool | None) -> list[tuple[bool, Literals]]:
    guards = list[Literals]()
    effects = action.effects
    for condition in atom.conditions:
        touched = [name for name in condition if name in effects]
        if not touched and settled is not None:
            if settled:
                return [(True, {})]
            continue
        if all(effects[name] == condition[name] for name in touched):
            guards.append({name: value for name, value in condition.items() if name not in effects})
    if any(not guard for guard in guards):
        return [(True, {})]
    return [(False, {}), *((True, guard) for guard in guards)]


def _merge(mappings: Iterable[Literals]) -> Literals | None:
    """Return all the conditions, or None where they contradict each other."""
    merged = dict[str, bool]()
    for mapping in mappings:
        for name, value in mapping.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged


def _join(moves: Mapping[_Move, set[_Target]]) -> Iterator[tuple[_Move, set[_Target]]]:
    """Join moves that change nothing to a single move, and leave the others, so that an action has few forms."""
    idle = dict[frozenset[tuple[str, bool]], set[_Target]]()
    for (guard, target, penalty), origins in moves.items():
        if origins == {target}:
            idle.setdefault(guard, set()).update(origins)
        else:
            yield (guard, target, penalty), origins
    for guard, origins in idle.items():
        yield (guard, None, 0.0), origins


class RuledActions:
    """Actions and goals under rules.

    Attributes:
        actions: the forms of the actions, and what gives a preference up
    """

    def __init__(self, rules: Sequence[RuledRule], actions: Sequence[Action]) -> None:
        """Write the actions under these rules.

        Raises:
            ValueError: the rules give an action too many forms
        """
        self.rules = rules
        self._originals = dict[int, tuple[Action, float]]()
        self._surrenders = {id(action): action for rule in rules for action in _give_up(rule)}
        self._forms = {id(action): self._write(action) for action in actions}
        written = [form for forms in self._forms.values() for form in forms]
        self.actions = (*written, *self._surrenders.values())
        self._offered = tuple(actions)  # keeps them alive, so that their ids are theirs

    def guard(self, goal: Goal, *, with_preferences: bool = True) -> Goal:
        """Return the goal, to be reached in a state in which the run may end."""
        rules = [rule for rule in self.rules if with_preferences or rule.rule.penalty is None]
        ends = {name: value for rule in rules for name, value in rule.at_the_end.items()}
        return replace(goal, conditions={**goal.conditions, **ends}) if ends else goal

    def find_forms(self, action: Action) -> Sequence[Action] | None:
        """Return the forms of an action: an empty sequence where the rules forbid it, None where it is not offered."""
        return self._forms.get(id(action))

    def gives_up(self, action: Action) -> bool:
        """Return True for an action that only pays for a preference."""
        return id(action) in self._surrenders

    def restore(self, action: Action, cost: float) -> tuple[Action | None, float, float]:
        """Return the action that this is a form of, its own cost, and the penalty in the cost of the form."""
        if id(action) in self._surrenders:
            return None, 0.0, cost
        original, penalty = self._originals.get(id(action), (action, 0.0))
        return original, cost - penalty, penalty

    def translate(self, actions: Iterable[Action], world: WorldState) -> list[Action]:
        """Return the forms in which these actions run in a row from this world, as far as they can."""
        steps = list[Action]()
        for action in actions:
            form = next((form for form in self._forms.get(id(action), ()) if form.is_runnable_in(world)), None)
            if form is None:
                break
            steps.append(form)
            world = world.apply(form)
        return steps

    def _write(self, action: Action) -> tuple[Action, ...]:
        combinations: list[RuledForm] = [RuledForm({}, {})]
        for rule in self.rules:
            forms = rule.find_forms(action)
            if forms != [RuledForm({}, {})]:
                combinations = list(_combine(combinations, forms))
            if len(combinations) > _MOST_FORMS:
                raise ValueError(
                    f"the rules distinguish more than {_MOST_FORMS:,} situations of action {action.name!r}: use fewer "
                    "rules that count, or smaller numbers"
                )
        if combinations == [RuledForm({}, {})]:
            return (action,)
        return tuple(self._write_forms(action, combinations))

    def _write_forms(self, action: Action, combinations: Sequence[RuledForm]) -> Iterator[Action]:
        for number, form in enumerate(combinations):
            if (pre := _merge((action.pre, form.pre))) is not None:
                name = action.name if len(combinations) == 1 else f"{action.name}\x1f{number}"
                effects, cost = {**action.effects, **form.effects}, _add(action.cost, form.penalty)
                written = Action(name, pre, effects, cost, action.value)
                self._originals[id(written)] = action, form.penalty
                yield written


def _combine(first: Iterable[RuledForm], second: Sequence[RuledForm]) -> Iterator[RuledForm]:
    for earlier, form in product(first, second):
        if (pre := _merge((earlier.pre, form.pre))) is not None:
            yield RuledForm(pre, {**earlier.effects, **form.effects}, earlier.penalty + form.penalty)


def _add(cost: Amount, penalty: float) -> Amount:
    if not penalty:
        return cost
    if not callable(cost):
        return cost + penalty
    evaluate: Callable[[WorldState], float] = cost
    return lambda world: evaluate(world) + penalty


def _give_up(rule: RuledRule) -> Iterator[Action]:
    """Return the action that pays for a preference which the run does not fulfil."""
    if rule.rule.penalty is not None and rule.at_the_end:
        paid = rule.condition(PAID)
        effects = {rule.condition(state): state == PAID for state in rule.states}
        yield Action(f"give up {rule.number}, {rule.rule}", {paid: False}, effects, rule.rule.penalty)
