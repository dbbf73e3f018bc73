"""Agents that are assembled of the actions of all others: to reach a goal, or to do whatever is worth most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from tactician.agents import PlannedAgent, Planner, combine_specs
from tactician.agents.planned.specs import find_planned_specs
from tactician.errors import DeclarationError
from tactician.loggers import get_logger
from tactician.planning import Action
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.goals import GoalSpec
from tactician.runs import Runnable

_PREFIX: Final = "towards "
_EVERYTHING: Final = "Platform"
_NAMES: Final = {planner: f"{_EVERYTHING} ({planner.value})" for planner in Planner} | {Planner.UTILITY: _EVERYTHING}
_PLANNERS: Final = {name: planner for planner, name in _NAMES.items()}
_logger = get_logger(__name__)


def combine_all(agents: Mapping[str, Runnable], planner: Planner = Planner.GOAP) -> PlannedAgentSpec | None:
    """Combine the actions and goals of all planned agents and components in a single spec, or `None`.

    Raises:
        DeclarationError: when they do not go together.
    """
    instances = [spec.instance for spec in find_planned_specs(agents.values())]
    return combine_specs(instances, name=_EVERYTHING, planner=planner) if instances else None


def assemble_everything(agents: Mapping[str, Runnable], planner: Planner) -> PlannedAgent:
    """Assemble an agent of all actions; its name says how it plans, so that its processes continue anywhere.

    Raises:
        DeclarationError: when there are no actions, or they do not go together.
    """
    if (spec := combine_all(agents, planner)) is None:
        raise DeclarationError(_EVERYTHING, ["no planned agent or component is registered"])
    return PlannedAgent.of(replace(spec, name=_NAMES[planner]))


def assemble_for(goal: str, agents: Mapping[str, Runnable]) -> PlannedAgent | None:
    """Assemble an agent for a goal, of whatever actions may help; `None` when there is no such goal.

    Raises:
        DeclarationError: when the actions do not go together.
    """
    spec = combine_all(agents)
    chosen = None if spec is None else next((candidate for candidate in spec.goals if candidate.name == goal), None)
    return None if spec is None or chosen is None else PlannedAgent.of(_aim(spec, chosen))


def assemble_towards(kind: type, agents: Mapping[str, Runnable]) -> list[PlannedAgentSpec]:
    """Assemble an agent for each goal that gives an object of a type, where that takes actions of several agents.

    The result is `None` when the actions do not go together.
    """
    try:
        spec = combine_all(agents)
    except DeclarationError as error:
        _logger.info("no agents for a %s: %s", kind.__name__, error)
        return []
    aimed = None if spec is None else spec.towards(kind)
    assembled = [] if spec is None or aimed is None else [_aim(spec, goal) for goal in aimed.goals]
    return [agent for agent in assembled if len({action.name.rpartition(".")[0] for action in agent.actions}) > 1]


def is_assembled(name: str) -> bool:
    """Return whether a name belongs to an assembled agent."""
    return name.startswith(_PREFIX) or name in _PLANNERS


def assemble(name: str, agents: Mapping[str, Runnable]) -> PlannedAgent | None:
    """Assemble the agent of a name, so that its processes continue wherever the same agents are."""
    if (planner := _PLANNERS.get(name)) is not None:
        return assemble_everything(agents, planner)
    return assemble_for(name.removeprefix(_PREFIX), agents) if is_assembled(name) else None


def list_assembled(agents: Mapping[str, Runnable]) -> list[str]:
    """List the names of all agents that can be assembled; none, when the actions do not go together."""
    try:
        spec = combine_all(agents)
    except DeclarationError as error:
        _logger.info("no agents for goals: %s", error)
        return []
    return [] if spec is None else [*_PLANNERS, *(_PREFIX + goal.name for goal in spec.goals)]


def _aim(spec: PlannedAgentSpec, goal: GoalSpec) -> PlannedAgentSpec:
    actions = _relevant(spec.plannable, goal)
    remaining = tuple(action for action in spec.actions if action.plan in actions)
    return replace(spec, name=_PREFIX + goal.name, description=goal.description, actions=remaining, goals=(goal,))


def _relevant(actions: Iterable[Action], goal: GoalSpec) -> list[Action]:
    """Return the actions that give something that the goal, or another such action, needs."""
    left, ordered = list(actions), list[Action]()
    needed = set(goal.plan.conditions.items())
    while producers := [action for action in left if not needed.isdisjoint(action.effects.items())]:
        ordered += producers
        left = [action for action in left if action not in producers]
        needed.update(fact for action in producers for fact in action.pre.items())
    return ordered
