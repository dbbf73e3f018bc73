"""Agents in which a model supervises actions: built for a process, and rebuilt where the process is continued."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, cast

import pydantic

from tactician.agents import PlannedAgent, Planner, combine_specs
from tactician.agents.planned.components import is_component
from tactician.agents.planned.specs import planned_spec
from tactician.errors import AgentNotFoundError, StoredStateError
from tactician.frozen import frozen
from tactician.llm import LanguageModel, LlmOptions
from tactician.planning import Goal
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.saving.saved_state import read_origin
from tactician.process.state.goals import GoalSpec
from tactician.process.stored_types import type_name
from tactician.runs import Runnable
from tactician.runs.progress.record import RunRecord

_PREFIX: Final = "led towards "


@frozen
class Recipe:
    """Stored description of a supervised agent, from which it is rebuilt out of the registered agents.

    Attributes:
        within: names of the components and agents whose actions are supervised.
        output_type: name of the type of the object.
        model: the supervising model; the default model of the platform, when `None`.
        max_rounds: maximum number of rounds in which the model calls tools.
    """

    within: tuple[str, ...]
    output_type: str
    model: str | LlmOptions | None
    max_rounds: int


def build_supervised_agent(
    scope: Sequence[object], kind: type, model: str | LlmOptions | LanguageModel | None, max_rounds: int
) -> PlannedAgentSpec:
    """Combine the actions of components and planned agents in an agent, in which a model works towards an object.

    Raises:
        AgentNotFoundError: when no action gives such an object.
        DeclarationError: when they are not declared correctly, or do not go together.
    """
    spec = _build_spec(scope, kind)
    if model is None or isinstance(model, str | LlmOptions):
        recipe = Recipe(tuple(map(_get_registered_name, scope)), type_name(kind), model, max_rounds)
        spec = replace(spec, recipe=cast("dict[str, pydantic.JsonValue]", _adapter().dump_python(recipe, mode="json")))
    from tactician.agents.supervision.supervised_agent import supervise

    return supervise(spec, model=model, max_rounds=max_rounds)


def is_supervised_agent(name: str) -> bool:
    """Return True if a name belongs to a supervised agent."""
    return name.startswith(_PREFIX)


def list_supervised_agents(agents: Iterable[PlannedAgentSpec]) -> Iterator[str]:
    """Return the names of all supervised agents that can be built of these agents."""
    return iter(dict.fromkeys(map(_create_name, _list_outputs(agents).values())))


def rebuild_supervised_agent(record: RunRecord, agents: Mapping[str, Runnable]) -> PlannedAgentSpec:
    """Rebuild the agent of a stored process from the registered agents.

    Raises:
        AgentNotFoundError: when not all of its parts are registered.
        StoredStateError: when the stored description cannot be read.
    """
    recipe = _read_recipe(record)
    allowed_agents = {name: agents[name] for name in recipe.within if name in agents}
    parts = {name: spec for name, agent in allowed_agents.items() if (spec := planned_spec(agent)) is not None}
    kind = _list_outputs(parts.values()).get(recipe.output_type)
    if missing := [name for name in recipe.within if name not in parts]:
        raise AgentNotFoundError(
            f"The process {record.run_id} is made of what is not registered here: {', '.join(missing)}. "
            f"Registered: {', '.join(agents) or 'none'}."
        )
    if kind is None:
        raise AgentNotFoundError(f"No action of {' and '.join(parts)} produces {recipe.output_type}.")
    return build_supervised_agent([part.instance for part in parts.values()], kind, recipe.model, recipe.max_rounds)


def _build_spec(scope: Sequence[object], output_type: type) -> PlannedAgentSpec:
    description = f"leads to {output_type.__name__}"
    spec = combine_specs(scope, name=_create_name(output_type), description=description, planner=Planner.GOAP)
    if (aimed := spec.towards(output_type) or _with_goals(spec, output_type)) is None:
        within = " and ".join(type(instance).__name__ for instance in scope)
        names = sorted({kind.__name__ for action in spec.actions for kind in action.output_types})
        raise AgentNotFoundError(f"No action of {within} produces {output_type.__name__}, only: {', '.join(names)}.")
    return aimed


def _with_goals(spec: PlannedAgentSpec, output_type: type) -> PlannedAgentSpec | None:
    """Return the agent with each action that gives an object of the type as a goal, or `None`."""
    goals = tuple(
        GoalSpec(
            Goal(action.name, {action.condition_ran: True}),
            action.description,
            action.output_types,
            action.output_binding,
        )
        for action in spec.actions
        if any(issubclass(kind, output_type) for kind in action.output_types)
    )
    return replace(spec, goals=goals) if goals else None


def _create_name(kind: type) -> str:
    return _PREFIX + kind.__name__


def _get_registered_name(instance: object) -> str:
    return type(instance).__name__ if is_component(instance) else PlannedAgent(instance).name


def _list_outputs(agents: Iterable[PlannedAgentSpec]) -> dict[str, type]:
    """Return the types of all objects that the actions may give, by name, with the bases of these types."""
    outputs = (kind for agent in agents for action in agent.actions for kind in action.output_types)
    return {type_name(base): base for kind in outputs for base in kind.__mro__}


def _read_recipe(record: RunRecord) -> Recipe:
    snapshot = record.snapshot
    try:
        return _adapter().validate_python(None if snapshot is None else read_origin(snapshot.tree["data"]).recipe)
    except pydantic.ValidationError as error:
        raise StoredStateError(f"The recipe of the process {record.run_id} cannot be read: {error}") from error


@cache
def _adapter() -> pydantic.TypeAdapter[Recipe]:
    return pydantic.TypeAdapter(Recipe)
