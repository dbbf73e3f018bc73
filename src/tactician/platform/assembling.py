"""Agents that are assembled of the actions of all others, to reach one goal."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tactician.agents import PlannedAgent, Planner, combined_spec, planned_specs
from tactician.errors import DeclarationError
from tactician.planning import Action
from tactician.process import GoalSpec, PlannedAgentSpec
from tactician.runs import Runnable

_PREFIX = "towards "
_logger = logging.getLogger(__name__)


def all_of(agents: Mapping[str, Runnable]) -> PlannedAgentSpec | None:
    """The actions and goals of all planned agents as one; `None` when there is none.

    Raises:
        DeclarationError: when they do not go together.
    """
    instances = [spec.instance for spec in planned_specs(agents.values())]
    return combined_spec(instances, planner=Planner.GOAP) if instances else None


def assembled_for(goal: str, agents: Mapping[str, Runnable]) -> PlannedAgent | None:
    """An agent for this goal, made of whatever actions of all agents may help; `None` when there is no such goal."""
    spec = all_of(agents)
    found = None if spec is None else next((one for one in spec.goals if one.name == goal), None)
    if spec is None or found is None:
        return None
    actions = _relevant(spec.plannable, found)
    kept = tuple(action for action in spec.actions if action.plan in actions)
    return PlannedAgent.of(
        replace(spec, name=_PREFIX + goal, description=found.description, actions=kept, goals=(found,))
    )


def is_assembled(name: str) -> bool:
    """Whether a name is that of an assembled agent."""
    return name.startswith(_PREFIX)


def assembled(name: str, agents: Mapping[str, Runnable]) -> PlannedAgent | None:
    """The assembled agent of this name: a process of it can go on wherever the same agents are."""
    return assembled_for(name.removeprefix(_PREFIX), agents) if is_assembled(name) else None


def assembled_names(agents: Mapping[str, Runnable]) -> list[str]:
    """The names of all agents that can be assembled of these; none, when their actions do not go together."""
    try:
        spec = all_of(agents)
    except DeclarationError as error:
        _logger.info("no agents for goals: %s", error)
        return []
    return [] if spec is None else [_PREFIX + goal.name for goal in spec.goals]


def _relevant(actions: Iterable[Action], goal: GoalSpec) -> list[Action]:
    """The actions that give something that the goal needs, or that another one of them needs."""
    left, kept = list(actions), list[Action]()
    needed = set(goal.plan.conditions.items())
    while found := [action for action in left if not needed.isdisjoint(action.effects.items())]:
        kept += found
        left = [action for action in left if action not in found]
        needed.update(fact for action in found for fact in action.pre.items())
    return kept
