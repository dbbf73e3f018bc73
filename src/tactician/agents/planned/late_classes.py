"""Refresh of agents whose types have new subclasses, above all states with actions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tactician.agents.planned.annotations import find_subclasses
from tactician.frozen import frozen
from tactician.process import ActionSpec, GoalSpec, PlannedAgentSpec


@frozen
class LateClasses:
    """Loader that reads an agent again when classes have been loaded since.

    Attributes:
        read: function that reads the agent.
        roots: the types that it names.
        known: these types and all their subclasses at the last reading.
        original: the agent at the last reading; a refreshed agent may have fewer actions and goals.
    """

    read: Callable[[], PlannedAgentSpec]
    roots: tuple[type, ...]
    known: frozenset[type]
    original: PlannedAgentSpec

    @classmethod
    def attach(cls, spec: PlannedAgentSpec, read: Callable[[], PlannedAgentSpec]) -> PlannedAgentSpec:
        """Return the agent with this object as its refresh function."""
        kinds = frozenset(spec.types.values())
        roots = tuple(kind for kind in kinds if kinds.isdisjoint(kind.__bases__))
        return replace(spec, refresher=cls(read, roots, _find_loaded(roots), spec))

    def __call__(self, spec: PlannedAgentSpec) -> PlannedAgentSpec:
        """Return the refreshed agent; the same agent when there is nothing new."""
        if _find_loaded(self.roots) <= self.known:
            return spec
        fresh, before = self.read(), self.original
        actions = _list_names(fresh.actions) - (_list_names(before.actions) - _list_names(spec.actions))
        goals = _list_names(fresh.goals) - (_list_names(before.goals) - _list_names(spec.goals))
        if spec.name != before.name:  # it was assembled for certain goals
            goals = _list_names(spec.goals)
        return replace(
            fresh,
            name=spec.name,
            description=spec.description,
            instance=spec.instance,
            recipe=spec.recipe,
            actions=tuple(action for action in fresh.actions if action.name in actions),
            goals=tuple(goal for goal in fresh.goals if goal.name in goals),
        )


def _list_names(declared: Sequence[ActionSpec] | Sequence[GoalSpec]) -> set[str]:
    return {spec.name for spec in declared}


def _find_loaded(roots: tuple[type, ...]) -> frozenset[type]:
    return frozenset(kind for root in roots for kind in find_subclasses(root))
