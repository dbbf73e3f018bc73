"""Action sequences, indexed once and compiled once per goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tactician.planning.model import Action, Goal
from tactician.planning.problem import PlanningProblem
from tactician.planning.world import Fact

_GOALS_REMEMBERED = 64
_SEQUENCES_REMEMBERED = 8


class ActionIndex:
    """A sequence of actions, ready to be compiled for goals."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        """Index the actions by the facts they bring about.

        Raises:
            ValueError: two have the same name
        """
        self.actions = actions
        self.achievers = _index_achievers(actions)
        self.has_fixed_amounts = not any(callable(action.cost) or callable(action.value) for action in actions)
        self._problems: dict[tuple[Fact, ...], PlanningProblem] = {}
        if len({action.name for action in actions}) < len(actions):
            raise ValueError(_describe_duplicates(actions))

    def achievers_of(self, fact: Fact) -> tuple[Action, ...]:
        """Return the actions that make a fact true and do not need it themselves."""
        return tuple(self.actions[position] for position in self.achievers.get(fact, ()))

    def problem(self, goal: Goal) -> PlanningProblem:
        """Return the problem of reaching the goal, compiled once."""
        conditions = tuple(goal.conditions.items())
        if (problem := self._problems.pop(conditions, None)) is None:
            problem = _compile(self.actions, self.achievers, conditions)
            if len(self._problems) == _GOALS_REMEMBERED:
                self._problems.pop(next(iter(self._problems)), None)
        self._problems[conditions] = problem  # in order of use, the most recent last
        return problem


class IndexCache:
    """The indexes of the action sequences seen last, recognised by the identity of the actions."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._indexes: dict[
            tuple[int, ...], ActionIndex
        ] = {}  # an index keeps its actions alive, so their ids are theirs

    def index(self, actions: Iterable[Action]) -> ActionIndex:
        """Return the index of these actions in this order."""
        sequence = tuple(actions)
        ids = tuple(map(id, sequence))
        if (index := self._indexes.pop(ids, None)) is None:
            index = ActionIndex(sequence)
            if len(self._indexes) >= _SEQUENCES_REMEMBERED:
                self._indexes.pop(next(iter(self._indexes)), None)
        self._indexes[ids] = index  # in order of use, the most recent last
        return index


def _index_achievers(actions: Sequence[Action]) -> dict[Fact, list[int]]:
    """Return the positions of the actions that bring a fact about and do not need it themselves."""
    achievers: dict[Fact, list[int]] = {}
    for position, action in enumerate(actions):
        needed = action.pre.items()
        for fact in action.effects.items():
            if fact not in needed:
                if fact in achievers:
                    achievers[fact].append(position)
                else:
                    achievers[fact] = [position]
    return achievers


def _describe_duplicates(actions: Sequence[Action]) -> str:
    name, times = Counter(action.name for action in actions).most_common(1)[0]
    return f"there are {times} actions with the name {name!r}: give each a name of its own"


def _compile(
    actions: tuple[Action, ...], achievers: Mapping[Fact, Sequence[int]], conditions: tuple[Fact, ...]
) -> PlanningProblem:
    """Keep the actions that can help the conditions, directly or through others, and number the facts they mention."""
    facts: dict[Fact, int] = {}
    relevant: set[int] = set()
    open_facts = list(conditions)
    for fact in open_facts:  # grows as it goes
        if fact not in facts:
            facts[fact] = 1 << len(facts)
            for position in achievers.get(fact, ()):
                if position not in relevant:
                    relevant.add(position)
                    open_facts.extend(actions[position].pre.items())
    preferred = sorted(relevant, key=lambda position: (-len(actions[position].pre), position))
    return PlanningProblem.of(facts, tuple(actions[position] for position in preferred), conditions)
