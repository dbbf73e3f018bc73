"""Action sequences, indexed once and compiled once per goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial

from tactician.planning.model import Action, Goal
from tactician.planning.problem import PlanningProblem
from tactician.planning.world import Fact

_GOALS_REMEMBERED = 64
_SEQUENCES_REMEMBERED = 8


class ActionIndex:
    """A sequence of actions, ready to be compiled for one goal after another."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        """Index the actions by the facts they bring about.

        Raises:
            ValueError: two have the same name
        """
        self.actions = actions
        for name, times in Counter(action.name for action in actions).items():
            if times > 1:
                raise ValueError(f"there are {times} actions with the name {name!r}: give each a name of its own")
        achievers: dict[Fact, list[int]] = {}
        for position, action in enumerate(actions):
            pre = action.pre
            for fact in action.effects.items():
                if pre.get(fact[0]) is not fact[1]:
                    achievers.setdefault(fact, []).append(position)
        self._achievers = achievers
        self._compile = lru_cache(_GOALS_REMEMBERED)(partial(_compile, actions, achievers))

    def achievers_of(self, fact: Fact) -> tuple[Action, ...]:
        """The actions that make a fact true and do not need it themselves."""
        return tuple(self.actions[position] for position in self._achievers.get(fact, ()))

    def problem(self, goal: Goal) -> PlanningProblem:
        """The problem of reaching the goal, compiled once."""
        return self._compile(tuple(goal.conditions.items()))


class IndexCache:
    """The indexes of the action sequences seen last, recognised by the identity of the actions."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._index = lru_cache(_SEQUENCES_REMEMBERED)(_index_of)

    def index(self, actions: Iterable[Action]) -> ActionIndex:
        """The index of these actions in this order."""
        return self._index(_SameActions(tuple(actions)))


class _SameActions:
    """A key for a sequence of actions; it keeps them alive, so that no other object can come by their ids."""

    __slots__ = ("_ids", "actions")

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.actions = actions
        self._ids = tuple(map(id, actions))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameActions) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)


def _index_of(same: _SameActions) -> ActionIndex:
    return ActionIndex(same.actions)


def _compile(
    actions: tuple[Action, ...], achievers: Mapping[Fact, Sequence[int]], conditions: tuple[Fact, ...]
) -> PlanningProblem:
    """Keep the actions that can help the conditions, directly or through others, and number the facts they mention."""
    facts: dict[Fact, int] = {}
    relevant: set[int] = set()
    wanted = list(conditions)
    for fact in wanted:  # grows as it goes
        if fact not in facts:
            facts[fact] = 1 << len(facts)
            for position in achievers.get(fact, ()):
                if position not in relevant:
                    relevant.add(position)
                    wanted.extend(actions[position].pre.items())
    preferred = sorted(relevant, key=lambda position: (-len(actions[position].pre), position))
    return PlanningProblem.of(facts, tuple(actions[position] for position in preferred), conditions)
