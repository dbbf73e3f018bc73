"""Agents whose actions a model leads towards an object: made for one process, and made again where it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from tactician.agents import PlannedAgent, Planner, combine_specs, is_component, planned_spec, supervise
from tactician.errors import AgentNotFoundError, StoredStateError
from tactician.llm import LanguageModel, LlmOptions
from tactician.planning import Goal
from tactician.process import GoalSpec, PlannedAgentSpec, read_origin, type_name
from tactician.runs import Runnable, RunRecord

_PREFIX: Final = "led towards "


@dataclass(frozen=True, slots=True)
class Recipe:
    """How such an agent is made again of what is registered.

    Attributes:
        within: the names of the components and agents whose actions are led.
        wanted: the name of the type of the object.
        model: who leads; the default model of the platform, when `None`.
        max_rounds: how often the model may call tools.
    """

    within: tuple[str, ...]
    wanted: str
    model: str | LlmOptions | None
    max_rounds: int


def led(
    scope: Sequence[object], wanted: type, model: str | LlmOptions | LanguageModel | None, max_rounds: int
) -> PlannedAgentSpec:
    """The actions of components and planned agents as one agent, led by a model towards an object of the type.

    Raises:
        AgentNotFoundError: when no action gives one.
        DeclarationError: when they are not declared correctly, or do not go together.
    """
    spec = _aimed(scope, wanted)
    if model is None or isinstance(model, str | LlmOptions):
        recipe = Recipe(tuple(map(_registered_name, scope)), type_name(wanted), model, max_rounds)
        spec = replace(spec, recipe=cast("dict[str, JsonValue]", _adapter().dump_python(recipe, mode="json")))
    return supervise(spec, model=model, max_rounds=max_rounds)


def is_led(name: str) -> bool:
    """Whether a name is that of an agent that a model leads."""
    return name.startswith(_PREFIX)


def led_names(agents: Iterable[PlannedAgentSpec]) -> Iterator[str]:
    """The names of all such agents that can be made of these."""
    return iter(dict.fromkeys(map(_name, _given(agents).values())))


def led_again(record: RunRecord, agents: Mapping[str, Runnable]) -> PlannedAgentSpec:
    """The agent of a process that is kept, made again of those that are registered.

    Raises:
        AgentNotFoundError: when not all that it is made of is there.
        StoredStateError: when what is kept cannot be read.
    """
    recipe = _recipe_of(record)
    known = {name: agents[name] for name in recipe.within if name in agents}
    parts = {name: spec for name, agent in known.items() if (spec := planned_spec(agent)) is not None}
    wanted = _given(parts.values()).get(recipe.wanted)
    if missing := [name for name in recipe.within if name not in parts]:
        raise AgentNotFoundError(
            f"The process {record.run_id} is made of what is not registered here: {', '.join(missing)}. "
            f"Registered: {', '.join(agents) or 'none'}."
        )
    if wanted is None:
        raise AgentNotFoundError(f"No action of {' and '.join(parts)} gives a {recipe.wanted}.")
    return led([part.instance for part in parts.values()], wanted, recipe.model, recipe.max_rounds)


def _aimed(scope: Sequence[object], wanted: type) -> PlannedAgentSpec:
    description = f"leads to {wanted.__name__}"
    spec = combine_specs(scope, name=_name(wanted), description=description, planner=Planner.GOAP)
    if (aimed := spec.towards(wanted) or _with_goals(spec, wanted)) is None:
        within = " and ".join(type(instance).__name__ for instance in scope)
        given = sorted({kind.__name__ for action in spec.actions for kind in action.output_types})
        raise AgentNotFoundError(f"No action of {within} gives a {wanted.__name__}, only: {', '.join(given)}.")
    return aimed


def _with_goals(spec: PlannedAgentSpec, wanted: type) -> PlannedAgentSpec | None:
    """The same agent, whose goals are its actions that give what is wanted, though none is declared to be one."""
    goals = tuple(
        GoalSpec(
            Goal(action.name, {action.condition_ran: True}),
            action.description,
            action.output_types,
            action.output_binding,
        )
        for action in spec.actions
        if any(issubclass(kind, wanted) for kind in action.output_types)
    )
    return replace(spec, goals=goals) if goals else None


def _name(wanted: type) -> str:
    return _PREFIX + wanted.__name__


def _registered_name(instance: object) -> str:
    return type(instance).__name__ if is_component(instance) else PlannedAgent(instance).name


def _given(agents: Iterable[PlannedAgentSpec]) -> dict[str, type]:
    """The types of all objects that their actions may give, by name, with the bases of these types."""
    outputs = (kind for agent in agents for action in agent.actions for kind in action.output_types)
    return {type_name(base): base for kind in outputs for base in kind.__mro__}


def _recipe_of(record: RunRecord) -> Recipe:
    snapshot = record.snapshot
    try:
        return _adapter().validate_python(None if snapshot is None else read_origin(snapshot.tree["data"]).recipe)
    except ValidationError as error:
        raise StoredStateError(f"The recipe of the process {record.run_id} cannot be read: {error}") from error


@cache
def _adapter() -> TypeAdapter[Recipe]:
    return TypeAdapter(Recipe)
