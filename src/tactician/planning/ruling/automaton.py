"""Rules as automata: small state machines that read a run step by step.

A rule about a finite trace, as in LTLf, is a finite automaton (De Giacomo and Vardi 2013). Each letter is a step of the
run: the action that has succeeded, and the state of the world after it. The first letter has no action.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from tactician.frozen import frozen
from tactician.planning.world import WorldState

DEAD: Final = -1
"""The state of a rule that is broken: nothing that follows can mend it."""
_MOST_STATES: Final = 1_000
_MOST_ATOMS: Final = 10

Literals: TypeAlias = Mapping[str, bool]
Truth: TypeAlias = tuple[bool, ...]


@frozen
class Runs:
    """The action of the step is among these."""

    actions: frozenset[str]


@frozen
class Acts:
    """The step has an action, so it is not the beginning."""


@frozen
class Holds:
    """One of these conditions is known to hold after the step.

    Attributes:
        conditions: alternatives, each of which is a mapping of conditions that all have these values
        unseen: the truth for a step whose state of the world is not known
    """

    conditions: tuple[Literals, ...]
    unseen: bool = False


@frozen
class Outside:
    """A condition is known not to hold before the step.

    Attributes:
        conditions: alternatives, each of which rules the condition out
    """

    conditions: tuple[Literals, ...]


Atom: TypeAlias = Runs | Acts | Holds | Outside


@frozen
class Automaton:
    """A rule as a table of states.

    Attributes:
        atoms: the facts about a step that the rule depends on
        table: for each state, the next state by the truth of the atoms; `DEAD` breaks the rule
        accepting: states in which the run may end
        settled: for each state, the truth of `Holds` atoms that is certain in it, by the number of the atom
    """

    atoms: tuple[Atom, ...]
    table: tuple[Mapping[Truth, int], ...]
    accepting: frozenset[int]
    settled: tuple[Mapping[int, bool], ...]

    @staticmethod
    def build(
        atoms: Sequence[Atom],
        start: Hashable,
        step: Callable[[Hashable, Truth], Hashable | None],
        accepts: Callable[[Hashable], bool],
        settles: Callable[[Hashable], Mapping[int, bool]] = lambda state: {},
    ) -> Automaton:
        """Enumerate the states that can be reached from `start`; `step` returns None where the rule is broken.

        Raises:
            ValueError: the rule is too large
        """
        if len(atoms) > _MOST_ATOMS:
            raise ValueError(f"a rule can combine at most {_MOST_ATOMS} events, and this has {len(atoms)}")
        numbers, table = {start: 0}, list[dict[Truth, int]]()
        for state in (states := [start]):  # grows as it goes
            row = dict[Truth, int]()
            for truth in product((False, True), repeat=len(atoms)):
                following = step(state, truth)
                if following is not None and following not in numbers:
                    numbers[following] = len(numbers)
                    states.append(following)
                row[truth] = DEAD if following is None else numbers[following]
            table.append(row)
            if len(states) > _MOST_STATES:
                raise ValueError(f"a rule can have at most {_MOST_STATES} states: use smaller numbers")
        accepting = frozenset(numbers[state] for state in states if accepts(state))
        return Automaton(tuple(atoms), _without_hopeless(table, accepting), accepting, tuple(map(settles, states)))

    def read(self, state: int, action: str | None, before: WorldState | None, after: WorldState | None) -> int:
        """Return the state after a step; without an action, the step is the beginning of the run."""
        if state < 0:
            return state
        return self.table[state][tuple([_is_true(atom, action, before, after) for atom in self.atoms])]


def _without_hopeless(
    table: Sequence[Mapping[Truth, int]], accepting: frozenset[int]
) -> tuple[Mapping[Truth, int], ...]:
    """Return the table in which states are broken from which no accepting state can be reached."""
    hopeful = set(accepting)
    while more := {n for n, row in enumerate(table) if n not in hopeful and not hopeful.isdisjoint(row.values())}:
        hopeful |= more
    return tuple({truth: n if n in hopeful else DEAD for truth, n in row.items()} for row in table)


def _is_true(atom: Atom, action: str | None, before: WorldState | None, after: WorldState | None) -> bool:
    match atom:
        case Runs():
            return action in atom.actions
        case Acts():
            return action is not None
        case Holds():
            return atom.unseen if after is None else any(map(after.satisfies, atom.conditions))
        case Outside():
            return before is None or any(map(before.satisfies, atom.conditions))
